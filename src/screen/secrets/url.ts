/** Secrets in addresses: a user and password before the host. */

import { type Hit, hitOf, spend } from "../check.ts";
import { matchAt } from "../text/ascii.ts";
import { distinct, isPlaceholder, looksLikePassword } from "./plausible.ts";

/** The cost of a check, units. */
const CHECK_UNITS = 60;

const LONGEST_SCHEME = 24;
const USERINFO =
  /([^\s:@/'"<>`{}\\]{0,128}(?:\\{1,2}[^\s:@/'"<>`{}\\[]{1,64})?):([^\s/'"<>`@]{1,256}(?:@[^\s/'"<>`@.]{1,64})?)@(%[sdv]|\$?\{|[\p{L}\p{N}[][\p{L}\p{N}._:[\]-]{0,252})/uy;
const NOT_A_PASSWORD = /^[$<{%*]|\$\{|\{\{|^x{2,}$|^\*|^\.{2,}|^(?:your|my)[-_]?pass|^\d{1,5}$/i;
const UPPER_NAME = /^[A-Z][A-Z_]{2,}$/;

/** The hosts in manuals. */
const NO_HOST = /^(?:localhost|127\.0\.0\.1|\[?::1|host(?:name)?|server|db|database|(?:\w+\.)*example\.)/i;

/** A connection string with a password, at the `://` that begins at `at`. */
export function connectionString(text: string, at: number): Hit | null {
  spend(CHECK_UNITS);
  let start = at;
  while (start > 0 && at - start < LONGEST_SCHEME && /[A-Za-z0-9+.-]/.test(text[start - 1] as string)) start--;
  if (start === at) return null;
  const match = matchAt(USERINFO, text, at + 3);
  if (!match) return null;
  const [, user = "", password = "", host = ""] = match;
  if (NOT_A_PASSWORD.test(password) && !/\d.*[a-z]|[a-z].*\d/.test(password)) return null;
  if (UPPER_NAME.test(password) || /\$\{|\{\{|^[$<{%]/.test(password) || /[$<{]/.test(user.charAt(0))) return null;
  // In a template that has a password, only the host is filled in.
  if (/^[%${]/.test(host) && (isPlaceholder(password) || !looksLikePassword(password))) return null;
  if (/^user(?:name)?$/i.test(user) && /^pass(?:word|wd)?$/i.test(password) && NO_HOST.test(host)) return null;
  if (password.length < 3 || distinct(password) < 2) return null;
  return hitOf("connection_string", start, USERINFO.lastIndex);
}
