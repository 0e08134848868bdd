/** Credentials in HTTP headers and in the arguments of command-line clients. */
import { type Check, type Hit, hitOf, spend } from "../check.ts";
import { matchAt } from "../text/ascii.ts";
import { isPlaceholder, looksLikePassword, looksRandom } from "./plausible.ts";
import { looksChosen } from "./sentence.ts";

/** The costs of checks, units. */
const CHECK_UNITS = 60;
const JUDGED_UNITS = 300;

const AUTHORIZATION =
  /["'\\]{0,3}\s{0,4}[:=,]{1,2}>?\s{0,4}["'\\`]{0,3}([A-Za-z][\w-]{1,24})?[ \t]{0,3}([A-Za-z0-9+/=_.~:-]{4,4096})/y;
const SCHEME_VALUE = /[ \t]{1,3}["'\\]{0,2}([A-Za-z0-9+/=_.~:-]{4,4096})/y;
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;

/** `Authorization: Bearer …` whose name ends at `end`; any scheme, or none. */
export function authorizationHeader(text: string, start: number, end: number): Hit | null {
  spend(CHECK_UNITS);
  const credential = matchAt(AUTHORIZATION, text, end)?.[2];
  return credential !== undefined && isCredential(credential)
    ? hitOf("auth_header", start, AUTHORIZATION.lastIndex)
    : null;
}

/** `Bearer …` or `Basic …` on its own, whose scheme ends at `end`. */
export function schemeCredential(scheme: "basic" | "bearer"): Check {
  return (text, start, end) => {
    spend(CHECK_UNITS);
    if (start > 0 && /[\w-]/.test(text[start - 1] as string)) return null;
    const credential = matchAt(SCHEME_VALUE, text, end)?.[1];
    if (credential === undefined) return null;
    const fits = scheme === "basic" ? isBasic(credential) : credential.length >= 16 && isCredential(credential);
    return fits ? hitOf("auth_header", start, SCHEME_VALUE.lastIndex) : null;
  };
}

/** A longer credential is judged by its beginning: groups of four characters of Base64. */
const LONGEST_JUDGED = 160;

function isCredential(written: string): boolean {
  const value = written.slice(0, LONGEST_JUDGED);
  spend(JUDGED_UNITS + written.length);
  if (isPlaceholder(value)) return false;
  return isBasic(value) || (value.length >= 10 && looksRandom(value));
}

/** Base64 of `user:password` (RFC 7617), or a value that is clearly meant as such. */
function isBasic(written: string): boolean {
  const value = written.slice(0, LONGEST_JUDGED);
  if (value.length < 8 || !BASE64.test(value) || isPlaceholder(value)) return false;
  const decoded = Buffer.from(value, "base64").toString("latin1");
  if (/^[\x20-\x7e]+$/.test(decoded) && decoded.includes(":"))
    return !/^[<$]|:\s*$|:[<$*]/.test(decoded) || decoded.endsWith(":");
  return value.length >= 12 && /=$|[A-Z].*\d|\d.*[A-Z]/.test(value) && looksRandom(value);
}

const USER_OPTION = /(?:=|[ \t]{1,4}|(?=["']))(?:"([^"\n]{3,200})"|'([^'\n]{3,200})'|([^\s"'<>|;&]{3,200}))/y;

/** `-u user:password` of curl and its kind, whose option ends at `end`. */
export function userOption(text: string, start: number, end: number): Hit | null {
  spend(CHECK_UNITS);
  const pair = argumentAt(USER_OPTION, text, end);
  const colon = pair?.indexOf(":") ?? -1;
  if (pair === null || colon < 0 || /^https?:|\/\//.test(pair)) return null;
  const user = pair.slice(0, colon);
  const password = pair.slice(colon + 1);
  if (isReference(user) || isReference(password)) return null;
  const strong = (half: string) =>
    half !== "" && !isPlaceholder(half) && (looksLikePassword(half) || looksRandom(half) || looksChosen(half));
  // A token often travels as the user with an empty or constant password.
  if (!strong(password) && !(strong(user) && user.length >= 10 && password === "")) return null;
  return hitOf("auth_header", start, USER_OPTION.lastIndex);
}

/** The argument of an option that the pattern finds at `at`, without the quotes of either kind around it. */
function argumentAt(pattern: RegExp, text: string, at: number): string | null {
  const match = matchAt(pattern, text, at);
  return match && (match[1] ?? match[2] ?? match[3] ?? "");
}

const isReference = (half: string): boolean => /^[$<{%`]|\$\{|\$\(|\{\{/.test(half);

const PASSWORD_OPTION = /[ \t]{1,3}(?:"([^"\n]{3,128})"|'([^'\n]{3,128})'|([^\s"'<>|;&]{4,128}))/y;
const USER_BEFORE = /\s-{1,2}(?:u|U|user|username|login)[ =\t]\s{0,2}["']?[^\s"']{1,128}["']?[^\n|;&]{0,80}$/;
const MYSQL = /\b(?:mysql\w*|mariadb\S*)\s[^\n|;&]*$/;
const LONGEST_COMMAND = 200;

/** `-p password` of a command that was given a user: psexec, docker login, mysql. */
export function passwordOption(text: string, start: number, end: number): Hit | null {
  spend(CHECK_UNITS);
  const password = argumentAt(PASSWORD_OPTION, text, end);
  if (password === null || !USER_BEFORE.test(text.slice(Math.max(0, start - LONGEST_COMMAND), start))) return null;
  if (isReference(password) || isPlaceholder(password) || /^[\d:./-]+$|^-/.test(password)) return null;
  // The client asks for the password; what follows is the database.
  if (text[end] === " " && MYSQL.test(text.slice(Math.max(0, start - LONGEST_COMMAND), start))) return null;
  return hitOf("auth_header", PASSWORD_OPTION.lastIndex - password.length, PASSWORD_OPTION.lastIndex);
}
