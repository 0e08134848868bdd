/** Keys of services whose form tells nothing: a random string beside the service's name. */
import { type Hit, secretHit } from "../finding.ts";
import { isPlaceholder, isUuid, looksRandom } from "./plausible.ts";

/** How far behind the name its key is looked for. */
const REACH = 72;
const LONGEST_KEY = 1200;
const CANDIDATE = /[A-Za-z0-9](?:[A-Za-z0-9_+/.~:!*@%&-]|=(?=[A-Za-z0-9+/=])){5,1200}={0,2}/g;
const KEY_WORD =
  /key|token|secret|access|private|passw|auth|pat\b|cred|pwd|client.?id|app.?id|login|id\s{0,3}[:=]/i;
/** Tied by `=` or `:`, with a word such as key. */
const SHORTEST_ASSIGNED = 8;
const SHORTEST_WITH_WORD = 12;
const SHORTEST_TIED = 16;
const SHORTEST_ALONE = 24;
const NAME_PART =
  /^(?:(?:SECRET|PRIVATE|ACCESS|KEY|TOKEN|API|AUTH)[-_]{0,2}){1,4}(?=[A-Za-z0-9])|^[A-Za-z_-]{2,24}[:=]/i;
const BREAK = /[\n\r]\s*\S|[;{}]\s|\.\s/;
/** Next to a service's name a digest or a version is more likely than a key. */
const HEX_DIGEST = /^[0-9a-f]{40}$|^[0-9a-f]{64}$|^[0-9a-f]{7,12}$/;
const ADDRESS =
  /^https?:|\/\/|^[\w-]+(?:\.[\w-]+)*\.(?:com|io|net|org|dev|co|app|md|js|ts|py|go|html?|json|ya?ml|png|svg)\b|^\/|@\w+\.\w/i;

/** The key of the service whose name spans `[start, end)`, if there is one right behind it. */
export function serviceKey(text: string, start: number, end: number): Hit | null {
  const before = text.charCodeAt(start - 1);
  if (start > 0 && isLower(text.charCodeAt(start)) && isLetter(before)) return null;
  const window = text.slice(end, end + REACH + LONGEST_KEY);
  CANDIDATE.lastIndex = 0;
  for (
    let match = CANDIDATE.exec(window);
    match !== null && match.index <= REACH;
    match = CANDIDATE.exec(window)
  ) {
    const gap = window.slice(0, match.index);
    if (BREAK.test(gap)) return null;
    const found = keyIn(match[0], gap);
    if (found !== null) {
      const at = end + match.index + found.offset;
      return secretHit("keyed_token", at, at + found.length);
    }
  }
  return null;
}

function keyIn(run: string, gap: string): { offset: number; length: number } | null {
  // `name:value` and `name=value` come as one run, and so does `KEY-value`.
  const cut = NAME_PART.exec(run)?.[0].length ?? 0;
  const value = run.slice(cut).replace(/[.:!]+$/, "");
  const said = gap + run.slice(0, cut);
  if (ADDRESS.test(value) || isPlaceholder(value) || (gap.includes("<") && !gap.includes(">"))) return null;
  return isKey(value, said) ? { offset: cut, length: value.length } : null;
}

function isKey(value: string, said: string): boolean {
  const named = KEY_WORD.test(said);
  const assigned = /[:=]\s{0,3}["'`]?$/.test(said);
  if (isUuid(value)) return named || assigned;
  if (!/[-_:=>"'\s,(]$/.test(said)) return false;
  if (named) {
    if (/^\d+$/.test(value)) return value.length >= 15 && assigned;
    const digest =
      HEX_DIGEST.test(value) && !/[:="'-]/.test(said) && !/secret|token|access|private/i.test(said);
    return (
      value.length >= (assigned ? SHORTEST_ASSIGNED : SHORTEST_WITH_WORD) && !digest && looksRandom(value)
    );
  }
  if (HEX_DIGEST.test(value) || !/^[\s:='"]*$/.test(said) || !looksRandom(value)) return false;
  return assigned
    ? value.length >= SHORTEST_TIED
    : value.length >= SHORTEST_ALONE && /\d/.test(value) && /[A-Z]/.test(value);
}

function isLetter(code: number): boolean {
  return (code >= 65 && code <= 90) || (code >= 97 && code <= 122);
}

function isLower(code: number): boolean {
  return code >= 97 && code <= 122;
}
