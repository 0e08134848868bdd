/** Secrets in addresses: a user and password before the host, and webhooks that are secrets themselves. */
import type { Anchor } from "../anchor.ts";
import { spend } from "../effort.ts";
import { type Hit, hitOf } from "../hit.ts";
import { distinct } from "./plausible.ts";

/** What a check costs. */
const CHECK_UNITS = 60;

const LONGEST_SCHEME = 24;
const USERINFO =
  /([^\s:@/'"<>`{}\\]{0,128}):([^\s/'"<>`@]{1,256}(?:@[^\s/'"<>`@.]{1,64})?)@([\p{L}\p{N}[][\p{L}\p{N}._:[\]-]{0,252})/uy;
const NOT_A_PASSWORD = /^[$<{%*]|\$\{|\{\{|^x{2,}$|^\*|^\.{2,}|^(?:your|my)[-_]?pass|^\d{1,5}$/i;
const UPPER_NAME = /^[A-Z][A-Z_]{2,}$/;

/** A connection string with a password, at the `://` that begins at `at`. */
export function connectionString(text: string, at: number): Hit | null {
  spend(CHECK_UNITS);
  let start = at;
  while (start > 0 && at - start < LONGEST_SCHEME && /[A-Za-z0-9+.-]/.test(text[start - 1] as string))
    start--;
  if (start === at) return null;
  USERINFO.lastIndex = at + 3;
  const match = USERINFO.exec(text);
  if (!match) return null;
  const [, user = "", password = ""] = match;
  if (NOT_A_PASSWORD.test(password) && !/\d.*[a-z]|[a-z].*\d/.test(password)) return null;
  if (UPPER_NAME.test(password) || /\$\{|\{\{|^[$<{%]/.test(password) || /[$<{]/.test(user.charAt(0)))
    return null;
  if (password.length < 3 || distinct(password) < 2) return null;
  return hitOf("connection_string", start, USERINFO.lastIndex);
}

/** Webhook addresses: the anchor, and what must follow it. */
const WEBHOOKS: readonly (readonly [anchor: string, rest: RegExp])[] = [
  ["hooks.slack.com/", /(?:services|workflows|triggers)\/[A-Za-z0-9+/_-]{20,120}/y],
  ["hooks.slack-gov.com/", /(?:services|workflows|triggers)\/[A-Za-z0-9+/_-]{20,120}/y],
  ["discord.com/api/", /(?:v\d{1,2}\/)?webhooks\/\d{15,22}\/[A-Za-z0-9_-]{40,100}/y],
  ["discordapp.com/api/", /(?:v\d{1,2}\/)?webhooks\/\d{15,22}\/[A-Za-z0-9_-]{40,100}/y],
  ["outlook.office.com/webhook/", /[A-Za-z0-9@-]{40,120}\/IncomingWebhook\/[A-Za-z0-9/-]{60,140}/y],
  ["outlook.office365.com/webhook/", /[A-Za-z0-9@-]{40,120}\/IncomingWebhook\/[A-Za-z0-9/-]{60,140}/y],
  [".webhook.office.com/webhookb2/", /[A-Za-z0-9@-]{40,120}\/IncomingWebhook\/[A-Za-z0-9/-]{60,200}/y],
  ["hooks.zapier.com/hooks/catch/", /[A-Za-z0-9/]{8,60}/y],
  ["chat.googleapis.com/v1/spaces/", /[\w-]{4,40}\/messages\?[\w=&%.-]{20,300}/y],
  [".logic.azure.com", /(?::\d{1,5})?\/workflows\/[\w/?=&%.-]{20,400}sig=[\w%-]{10,100}/y],
  ["maker.ifttt.com/trigger/", /[\w-]{1,64}\/(?:json\/)?with\/key\/[\w-]{20,64}/y],
  ["api.telegram.org/bot", /\d{5,16}:[\w-]{30,40}/y],
  [".tines.com/webhook/", /[a-z0-9]{20,64}\/[a-z0-9]{20,64}/y],
  [".tines.io/webhook/", /[a-z0-9]{20,64}\/[a-z0-9]{20,64}/y],
  ["events.pagerduty.com/", /(?:integration|generic)\/[\w/-]{20,100}/y],
  ["open.feishu.cn/open-apis/bot/", /v\d\/hook\/[a-z0-9-]{20,60}/y],
  ["open.larksuite.com/open-apis/bot/", /v\d\/hook\/[a-z0-9-]{20,60}/y],
  ["oapi.dingtalk.com/robot/send?", /access_token=[a-z0-9]{40,80}/y],
  ["qyapi.weixin.qq.com/cgi-bin/webhook/send?", /key=[a-z0-9-]{30,60}/y],
  ["hook.integromat.com/", /[a-z0-9]{20,60}/y],
  [".make.com/", /[a-z0-9]{28,60}/y],
  [".m.pipedream.net", /\b/y],
];

/** The anchors of webhooks, each with its check. */
export function webhookAnchors(): Anchor[] {
  return WEBHOOKS.map(([word, rest]) => ({
    word,
    check: (text, start, end) => {
      rest.lastIndex = end;
      if (!rest.test(text)) return null;
      const last = rest.lastIndex;
      // Filled in by hand for a manual, not issued.
      if (/x{6,}|(.)\1{7,}|your[-_]|example/i.test(text.slice(end, last))) return null;
      return hitOf("webhook_url", start, last);
    },
  }));
}
