/** What each anchor word of the secrets side leads to. */
import type { Hit } from "../finding.ts";
import { secretHit } from "../finding.ts";
import { jsonWebToken, privateKeyBlock, telegramToken } from "./blocks.ts";
import { authorizationHeader, schemeCredential, userOption } from "./header.ts";
import { announcedSecret } from "./keyed.ts";
import { serviceKey } from "./service.ts";
import { TOKEN_FORMATS, type TokenFormat, tokenEnd } from "./token-format.ts";
import { connectionString, webhookAnchors } from "./url.ts";
import { KEY_WORDS, PASSWORD_WORDS, SERVICES, type SecretWord, WHOLE_PART_WORDS } from "./words.ts";

/** Looks at the text around an anchor that spans `[start, end)`. */
export type Check = (text: string, start: number, end: number) => Hit | null;

/** An anchor and its check. */
export interface Anchor {
  word: string;
  check: Check;
}

/** Every anchor of the secrets side. */
export function secretAnchors(): Anchor[] {
  return [
    ...tokenAnchors(),
    ...PASSWORD_WORDS.map((word) => ({ word, check: announced(word, "password") })),
    ...KEY_WORDS.map((word) => ({ word, check: announced(word, "key") })),
    ...SERVICES.map((word) => ({ word, check: serviceKey })),
    ...webhookAnchors(),
    { word: "://", check: connectionString },
    { word: ":A", check: telegramToken },
    { word: "authorization", check: authorizationHeader },
    { word: "basic", check: (text, start, end) => schemeCredential(text, "basic", start, end) },
    { word: "bearer", check: (text, start, end) => schemeCredential(text, "bearer", start, end) },
    { word: " -u", check: userOption },
    { word: "--user", check: userOption },
    { word: "ey", check: (text, start) => (text.startsWith("ey", start) ? jsonWebToken(text, start) : null) },
    { word: "-BEGIN", check: (text, start) => privateKeyBlock(text, dashesBefore(text, start)) },
  ];
}

function dashesBefore(text: string, at: number): number {
  let start = at;
  while (start > 0 && at - start < 4 && text[start - 1] === "-") start--;
  return start;
}

/** Formats that share a prefix share the anchor. */
function tokenAnchors(): Anchor[] {
  const byPrefix = new Map<string, TokenFormat[]>();
  for (const format of TOKEN_FORMATS) {
    byPrefix.set(format.prefix, [...(byPrefix.get(format.prefix) ?? []), format]);
  }
  return [...byPrefix].map(([word, formats]) => ({
    word,
    check: (text, start, end) => {
      for (const format of formats) {
        const found = tokenEnd(format, text, start, end);
        if (found >= 0) return secretHit("provider_token", start, found);
      }
      return null;
    },
  }));
}

function announced(word: string, kind: SecretWord): Check {
  const wholePart = WHOLE_PART_WORDS.has(word) || word.length <= 4;
  return (text, start, end) => {
    if (continuesWord(text, end) && !(text[end] === "s" && !continuesWord(text, end + 1))) return null;
    if (wholePart && continuesBefore(text, start)) return null;
    return announcedSecret(text, kind, start, end);
  };
}

/** A letter in lower case after the anchor: it is the beginning of another word. */
function continuesWord(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  if (code >= 97 && code <= 122) return true;
  // In a name all in capitals a capital goes on with the word.
  return code >= 65 && code <= 90 && isUpper(text.charCodeAt(at - 1));
}

/** A letter before the anchor that belongs to the same part of a name. */
function continuesBefore(text: string, start: number): boolean {
  const before = text.charCodeAt(start - 1);
  if (start === 0 || Number.isNaN(before)) return false;
  if (before >= 97 && before <= 122) return !isUpper(text.charCodeAt(start));
  // "OTCToken": a capital with small letters behind it begins a part of its own.
  return isUpper(before) && isUpper(text.charCodeAt(start)) && isUpper(text.charCodeAt(start + 1));
}

function isUpper(code: number): boolean {
  return code >= 65 && code <= 90;
}
