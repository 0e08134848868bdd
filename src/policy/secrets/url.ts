/** Secrets in addresses: a user and password before the host, and webhooks that are secrets themselves. */

import type { Anchor } from "../anchor.ts";
import { type Hit, hitOf, spend } from "../check.ts";
import { matchEnd } from "../text/ascii.ts";
import { columnsOf, listsOf, stickyOf } from "../words/lists.ts";
import patterns from "../words/patterns.txt" with { type: "text" };
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
  while (start > 0 && at - start < LONGEST_SCHEME && /[A-Za-z0-9+.-]/.test(text[start - 1] as string)) start--;
  if (start === at) return null;
  USERINFO.lastIndex = at + 3;
  const match = USERINFO.exec(text);
  if (!match) return null;
  const [, user = "", password = ""] = match;
  if (NOT_A_PASSWORD.test(password) && !/\d.*[a-z]|[a-z].*\d/.test(password)) return null;
  if (UPPER_NAME.test(password) || /\$\{|\{\{|^[$<{%]/.test(password) || /[$<{]/.test(user.charAt(0))) return null;
  if (password.length < 3 || distinct(password) < 2) return null;
  return hitOf("connection_string", start, USERINFO.lastIndex);
}

/** The anchors of webhooks (words/patterns.txt), each with its check. */
export function webhookAnchors(): Anchor[] {
  return listsOf(patterns, ["infixes", "webhooks"]).webhooks.map((row) => {
    const [word, pattern] = columnsOf(row) as [string, string];
    const rest = stickyOf(pattern);
    return {
      word,
      check: (text, start, end) => {
        const last = matchEnd(rest, text, end);
        // Filled in by hand for a manual, not issued.
        if (last < 0 || /x{6,}|(.)\1{7,}|your[-_]|example/i.test(text.slice(end, last))) return null;
        return hitOf("webhook_url", start, last);
      },
    };
  });
}
