/** Secrets that no word names, recognized by their place in a file of a known format. */
import { type Check, hitOf, spend } from "../check.ts";
import { matchAt, matchEnd } from "../text/ascii.ts";
import { isPlaceholder, looksLikePassword, looksRandom, saysOfSecret } from "./plausible.ts";

/** The cost of a check, units. */
const CHECK_UNITS = 60;

const PGPASS_BEFORE = /(?:^|[\s"'`])[\w*.-]{1,120}:(?:\d{2,5}|\*)$/;
const PGPASS_REST = /:[\w*.-]{1,64}:[\w*.@-]{1,64}:([^\s:"'`]{4,128})(?=[\s"'`]|$)/y;
const LONGEST_HOST = 128;

/** A line of `.pgpass`, `host:port:database:user:password`, at the port that `[start, end)` is. */
export const pgpassLine: Check = (text, start, end) => {
  spend(CHECK_UNITS);
  // The anchor ends with the colon after the port.
  const password = matchAt(PGPASS_REST, text, end - 1)?.[1];
  if (password === undefined || isPlaceholder(password) || /^\d+$/.test(password)) return null;
  if (!PGPASS_BEFORE.test(text.slice(Math.max(0, start - LONGEST_HOST), end - 1))) return null;
  return hitOf("generic_credential", PGPASS_REST.lastIndex - password.length, PGPASS_REST.lastIndex);
};

const CRYPT =
  /\$(?:(?:[156]|apr1|md5|sha1|y|gy|7|8|9)\$(?:rounds=\d{1,9}\$)?[A-Za-z0-9./=,]{2,40}\$[A-Za-z0-9./]{16,90}|2[abxy]\$\d\d\$[A-Za-z0-9./]{53}|argon2(?:id|i|d)\$(?:v=\d+\$)?[mtp=,\d]{5,40}\$[A-Za-z0-9+/]{8,90}\$[A-Za-z0-9+/]{16,120}|krb5(?:asrep|tgs|pa)\$\d\d\$[^\s$]{1,200}\$?[^\s]{16,200})(?![A-Za-z0-9./$])/y;
/** After the name of a user, in a list of users, or alone. */
const LISTED = /(?:^|[\n"']|: )[ \t]{0,8}(?:[\w.@-]{1,64}:)?$/;
const LONGEST_USER = 80;

/** A user's hashed password where hashes are kept: a line of `/etc/shadow` or `.htpasswd`, or one alone. */
export const passwordHash: Check = (text, start) => {
  spend(CHECK_UNITS);
  const end = matchEnd(CRYPT, text, start);
  if (end < 0 || !LISTED.test(text.slice(Math.max(0, start - LONGEST_USER), start))) return null;
  return isPlaceholder(text.slice(start + 6, end)) ? null : hitOf("generic_credential", start, end);
};

const COOKIE =
  /["']?[:=,]?\s{0,3}["'`]?(?:[\w.-]{1,40}=[^;\s"'`]{0,200};\s?){0,6}?[\w.-]{0,24}(?:sess|sid|auth|token|jwt|remember|login|sso|_at)[\w.-]{0,24}=([^;\s"'`]{16,400})/iy;
const COOKIE_UNITS = 300;
const LONGEST_JUDGED = 128;

/** `Cookie: sessionid=…`: the cookie that authenticates a browser. */
export const sessionCookie: Check = (text, _start, end) => {
  spend(CHECK_UNITS);
  if (text[end] !== ":" && text[end] !== '"' && text[end] !== "'") return null;
  spend(COOKIE_UNITS);
  const value = matchAt(COOKIE, text, end)?.[1];
  if (value === undefined || isPlaceholder(value) || !looksRandom(decoded(value).slice(0, LONGEST_JUDGED))) return null;
  return hitOf("generic_credential", COOKIE.lastIndex - value.length, COOKIE.lastIndex);
};

const SESSION = /=([A-Za-z0-9%._!-]{16,200})/y;

/** `JSESSIONID=…`: the cookie itself, by the name that a server's software gives it. */
export const namedSession: Check = (text, _start, end) => {
  spend(CHECK_UNITS);
  const value = matchAt(SESSION, text, end)?.[1];
  if (value === undefined || isPlaceholder(value) || !looksRandom(decoded(value).slice(0, LONGEST_JUDGED))) return null;
  return hitOf("generic_credential", SESSION.lastIndex - value.length, SESSION.lastIndex);
};

const decoded = (value: string): string => value.replace(/^s%3A/i, "");

const STRING_MEMBER = /\n[ \t]{1,12}["']?([\w.-]{1,64})["']?:[ \t]{1,4}(?:[|>]-?\s{1,16})?["']?([^\s"'#{}]{6,200})/g;
const MANIFEST_REACH = 800;
const MANIFEST_UNITS = 600;

/** The members of `stringData` in a manifest of Kubernetes, all secrets except names and addresses. */
export const stringData: Check = (text, _start, end) => {
  spend(CHECK_UNITS);
  if (text[end] !== ":") return null;
  spend(MANIFEST_UNITS);
  const data = text.slice(end, end + MANIFEST_REACH);
  const stop = /\n(?=[^\s#])/.exec(data)?.index ?? data.length;
  for (const match of data.slice(0, stop).matchAll(STRING_MEMBER)) {
    const [whole, name = "", value = ""] = match;
    if (saysOfSecret(name) || isPlaceholder(value) || !(looksRandom(value) || looksLikePassword(value))) continue;
    const at = end + match.index + whole.length;
    return hitOf("generic_credential", at - value.length, at);
  }
  return null;
};
