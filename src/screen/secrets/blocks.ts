/** JSON Web Tokens and private keys in text form. */
import { type Hit, hitOf, spend } from "../check.ts";
import { isAnyBase64, isDigit, matchEnd } from "../text/ascii.ts";

/** The cost of a check, units. */
const CHECK_UNITS = 30;
/** How much text is searched in one unit, as a power of two, code units. */
const SEARCHED_PER_UNIT = 6;

const JWT = /eyJ?[A-Za-z0-9_/+-]{8,4096}\.(?:[A-Za-z0-9_/+-]{2,16384})\.(?:[A-Za-z0-9_/+-]{10,4096})?={0,2}/y;
const LONGEST_HEADER = 4099;
const isHeaderCode = (code: number): boolean => isAnyBase64(code) || code === EQUALS;
const EQUALS = 0x3d;
const LOOSE_JWT = /ey[A-Za-z0-9_-]{20,2048}\.(?:ey)?[A-Za-z0-9_-]{20,16384}(?:\.[A-Za-z0-9_-]{16,4096}){1,3}={0,2}/y;

/** A JSON Web Token (RFC 7519, compact JWS or JWE) that begins at `at`. */
export function jsonWebToken(text: string, at: number): Hit | null {
  if (!text.startsWith("ey", at)) return null;
  spend(CHECK_UNITS);
  if (at > 0 && /[A-Za-z0-9_-]/.test(text[at - 1] as string)) return null;
  let dot = at;
  while (dot < text.length && dot - at < LONGEST_HEADER && isHeaderCode(text.charCodeAt(dot))) dot++;
  spend((dot - at) >> 2);
  if (text[dot] !== ".") return null;
  const end = matchEnd(JWT, text, at);
  if (end >= 0 && hasHeader(text.slice(at, text.indexOf(".", at)))) return hitOf("jwt", at, end);
  const looseEnd = matchEnd(LOOSE_JWT, text, at);
  const body = text.slice(at, looseEnd);
  return looseEnd >= 0 && /\d/.test(body) && /[A-Z]/.test(body) ? hitOf("jwt", at, looseEnd) : null;
}

/** The first part must be a JSON object with a member that headers have. */
function hasHeader(part: string): boolean {
  const json = Buffer.from(part, "base64url").toString("latin1");
  return json.startsWith("{") && /"(?:alg|typ|enc|kid|cty|jku|x5t|zip)"/.test(json);
}

const PEM_BEGIN = /-{3,5} ?BEGIN[ A-Z0-9_-]{0,40}PRIVATE[ _]KEY(?: BLOCK)? ?-{3,5}/iy;
/** Enough of a body that it is a key, or the end of the line: a mention of the format is quoted or in a sentence. */
const PEM_BODY =
  /(?:\s|\\{1,4}[nrt]|["'+,;]|\\$){0,80}(?:[A-Za-z-]{3,20}: [^\n\\]{1,100}(?:\n|\\{1,4}n)\s{0,8}){0,4}[A-Za-z0-9+/=]{12}|(?:\s|["'+,]){0,16}(?:\n|\\{1,4}n)(?:\s|["'+,]){0,16}[A-Za-z0-9+/=]{4}|[ \t]*(?:\r?\n|$)/y;

/** A private key in PEM (RFC 7468), OpenSSH or OpenPGP armour, around the `-BEGIN` that starts at `anchor`. */
export function privateKeyBlock(text: string, anchor: number): Hit | null {
  spend(CHECK_UNITS);
  let at = anchor;
  while (at > 0 && anchor - at < 4 && text[at - 1] === "-") at--;
  const bodyAt = matchEnd(PEM_BEGIN, text, at);
  if (bodyAt < 0 || matchEnd(PEM_BODY, text, bodyAt) < 0) return null;
  const close = text.indexOf("-----END", bodyAt);
  spend(((close < 0 ? text.length : close) - bodyAt) >> SEARCHED_PER_UNIT);
  return hitOf("private_key", at, close < 0 ? text.length : Math.min(text.length, close + 8));
}

const PUTTY_LINES = /\s?\d{1,3}(?:\s|\\[nr]){1,4}[A-Za-z0-9+/=]{16}/y;

/** The private part of a key file of PuTTY, whose `Private-Lines:` spans `[start, end)`. */
export function puttyKey(text: string, start: number, end: number): Hit | null {
  spend(CHECK_UNITS);
  return matchEnd(PUTTY_LINES, text, end) < 0 ? null : hitOf("private_key", start, PUTTY_LINES.lastIndex);
}

const TELEGRAM_SECRET = /:A(?=[A-Za-z_-]{0,32}\d)[A-Za-z0-9_-]{33,35}(?![A-Za-z0-9_-])/y;
const LONGEST_BOT_ID = 16;
const SHORTEST_BOT_ID = 5;

/** A Telegram bot token, `<bot id>:A…`, whose `:A` begins at `at`. */
export function telegramToken(text: string, at: number): Hit | null {
  let start = at;
  while (start > 0 && at - start <= LONGEST_BOT_ID && isDigit(text.charCodeAt(start - 1))) start--;
  if (at - start < SHORTEST_BOT_ID || at - start > LONGEST_BOT_ID) return null;
  if (start > 0 && /[A-Za-z_]/.test(text[start - 1] as string)) return null;
  const last = matchEnd(TELEGRAM_SECRET, text, at);
  return last < 0 ? null : hitOf("provider_token", start, last);
}
