/** Keys of services without a telling form: a random string after the service's name. */
import { type Hit, hitOf, spend } from "../check.ts";
import { isDigit, isLetter, isLower, matchEnd } from "../text/ascii.ts";
import { isInIdentifier, isInResourceName } from "../text/identifier.ts";
import { isPlaceholder, isUuid, looksRandom } from "./plausible.ts";

/** The longest distance between a name and its key. */
const REACH = 72;
const LONGEST_KEY = 1200;
const SHORTEST_RUN = 6;
/** The cost of searching after a name, and of judging a run, units. */
const REACH_UNITS = 60;
const KEY_UNITS = 60;
const KEY_WORD = /key|token|secret|access|private|passw|auth|pat\b|cred|pwd|login|id\s{0,3}[:=]/i;
/** What a program shows to everybody: the ids of clients, and keys for pages and searches. */
const PUBLIC_WORD =
  /(?:(?:client|app|application)[-_. ]?id|(?:publishable|public|site|search[-_. ]?only)[-_. ]?(?:api[-_. ]?)?key)\W{0,8}$|ENC[[(][^\])]*$/i;
/** Tied by `=` or `:`, with a word such as key. */
const SHORTEST_ASSIGNED = 8;
const SHORTEST_WITH_WORD = 12;
const SHORTEST_TIED = 16;
const SHORTEST_ALONE = 24;
/** The same, when capitals, small letters and digits change often. */
const SHORTEST_MIXED = 20;
const MIXED = /^(?=(?:.*\d){3})(?=(?:.*[a-z]){3})(?=(?:.*[A-Z]){3})(?=(?:.*(?:[A-Za-z]\d|\d[A-Za-z])){4})/;
const NAME_PART =
  /^[A-Za-z_-]{2,24}[:=]|^(?:(?:SECRET|PRIVATE|ACCESS|KEY|TOKEN|API|AUTH)[-_]{0,2}){1,4}(?=[A-Za-z0-9])/i;
/** Next to a service's name a digest or a version is more likely than a key. */
const NAMED_DIGEST = /^(?:vault:)?(?:h1|sha\d{1,3}|md5|v\d)[:-]/;
/** `20260412T091735Z` */
const TIME = /^\d{8}T\d{4,6}Z?$/;
/** `EC2::VPC`, `utils_js_1.getUuid`, `IPv4Address.__lt__`, `scram-sha-256`; an address of IPv6. */
const NAME_IN_PROGRAM =
  /::|__|^(?:s?cram|ntlm|x?oauth)[-_\d]|^[a-z]\w*\.[a-z]+[A-Z]\w*$|^(?:[0-9a-f]{1,4}:){3,7}[0-9a-f]{1,4}$/i;
/** Ids of what a payment provider keeps: a payment, a customer, an invoice. */
const OBJECT_ID =
  /^(?:pi|py|ch|cus|in|ii|sub|si|price|prod|plan|evt|acct|pm|txn|re|po|seti|req|dp|mandate|link|qt|cn|tr)_[A-Za-z0-9]{8,}$/;
const HEX_DIGEST = /^[0-9a-f]{40}$|^[0-9a-f]{64}$|^[0-9a-f]{7,12}$/;
const ADDRESS =
  /^https?:|\/\/|^[\w-]+(?:\.[\w-]+)*\.(?:com|io|net|org|dev|co|app|md|js|ts|py|go|html?|json|ya?ml|png|svg)\b|^\/|@\w+\.\w/i;

/** The characters of a key; `=` only inside and as padding. */
const KEY_CHARACTER = Uint8Array.from({ length: 128 }, (_, code) =>
  /[A-Za-z0-9_+/.~:*%=-]/.test(String.fromCharCode(code)) ? 1 : 0,
);

/** Finds the key of the service whose name spans `[start, end)` shortly after it. */
export function serviceKey(text: string, start: number, end: number): Hit | null {
  if (start > 0 && isLower(text.charCodeAt(start)) && isLetter(text.charCodeAt(start - 1))) return null;
  const reach = Math.min(text.length, end + REACH);
  spend(REACH_UNITS);
  // No key is looked for in a path of the service.
  const pathEnd = text[end] === "." ? matchEnd(HOST_AND_PATH, text, end) : -1;
  for (let at = Math.max(end, pathEnd); at < reach; ) {
    const code = text.charCodeAt(at);
    if (!isLetter(code) && !isDigit(code)) {
      if (breaksOff(text, at, code)) return null;
      at++;
      continue;
    }
    const runEnd = endOfRun(text, at);
    if (runEnd - at >= SHORTEST_RUN && isMixed(text, at, runEnd)) {
      spend(KEY_UNITS + 2 * (runEnd - at));
      const found = keyIn(text.slice(at, runEnd), text.slice(end, at));
      if (found !== null) {
        // In one value, name and key are one token; in two values, the first may be an identifier.
        if (/["'`]/.test(text.slice(end, at)) && isInIdentifier(text, start, end)) return null;
        if (isInResourceName(text, at)) return null;
        return hitOf("keyed_token", at + found.offset, at + found.offset + found.length);
      }
    }
    at = runEnd;
  }
  return null;
}

/** `github.com/…`: the name of a host and a path, without a question. */
const HOST_AND_PATH = /\.(?:com|io|org|net|dev|co|ai|app)\/[\w./#-]{1,120}(?![\w./#?&=:%@+-])/y;

/** A new line with something on it, a block, the end of a sentence: what follows is about something else. */
function breaksOff(text: string, at: number, code: number): boolean {
  if (code === 10 || code === 13) return text[at - 1] !== ">" && !/\s/.test(text[at + 1] ?? " ");
  if (code === 46 || code === 59 || code === 123 || code === 125) return /\s/.test(text[at + 1] ?? "");
  return false;
}

function endOfRun(text: string, at: number): number {
  const limit = Math.min(text.length, at + LONGEST_KEY);
  let end = at;
  for (; end < limit; end++) {
    const code = text.charCodeAt(end);
    if (code >= 128 || KEY_CHARACTER[code] === 0) break;
  }
  return end;
}

/** Reports whether a run can be a key, which is never a word in lower case: it has a digit, both cases, or is long. */
function isMixed(text: string, start: number, end: number): boolean {
  let lower = 0;
  let upper = 0;
  for (let i = start; i < end; i++) {
    const code = text.charCodeAt(i);
    if (isDigit(code)) return true;
    if (isLower(code)) lower++;
    else if (isLetter(code)) upper++;
  }
  return (lower > 0 && upper > 0 && end - start >= 16) || end - start >= 24;
}

function keyIn(run: string, gap: string): { offset: number; length: number } | null {
  // `name:value`, `name=value` and `KEY-value` are each one run.
  const cut = NAME_PART.exec(run)?.[0].length ?? 0;
  const value = run.slice(cut).replace(/[.:!]+$/, "");
  const said = gap + run.slice(0, cut);
  if (gap.includes("<") && !gap.includes(">")) return null;
  if (
    NAME_IN_PROGRAM.test(value) ||
    NAMED_DIGEST.test(run) ||
    TIME.test(value) ||
    OBJECT_ID.test(value) ||
    !isKey(value, said) ||
    ADDRESS.test(value) ||
    isPlaceholder(value)
  )
    return null;
  return { offset: cut, length: value.length };
}

function isKey(value: string, said: string): boolean {
  if (PUBLIC_WORD.test(said)) return false;
  const named = KEY_WORD.test(said);
  const assigned = /[:=]\s{0,3}["'`]?$/.test(said);
  if (isUuid(value)) return (named || assigned) && !/id["']?\s{0,3}[:=]\s{0,3}["']?$/i.test(said);
  if (!/[-_:=>"'\s,(]$/.test(said)) return false;
  if (named) {
    if (/^\d+$/.test(value)) return value.length >= 15 && assigned;
    const digest = HEX_DIGEST.test(value) && !/[:="'-]/.test(said) && !/secret|token|access|private/i.test(said);
    return value.length >= (assigned ? SHORTEST_ASSIGNED : SHORTEST_WITH_WORD) && !digest && looksRandom(value);
  }
  if (HEX_DIGEST.test(value) || !/^[\s:='"]*$/.test(said) || !looksRandom(value)) return false;
  return assigned
    ? value.length >= SHORTEST_TIED
    : (value.length >= SHORTEST_MIXED && MIXED.test(value)) ||
        (value.length >= SHORTEST_ALONE && /\d/.test(value) && (/[A-Z]/.test(value) || /["']$/.test(said)));
}
