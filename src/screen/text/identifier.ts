/** Random identifiers. Words that happen to occur in an identifier announce nothing. */
import { wordShare } from "../secrets/plausible.ts";
import { isAnyBase64, isBase64, matchEnd, runAround } from "./ascii.ts";

/** How far on either side of the word the identifier is read. */
const REACH = 64;
/** A shorter run is a name with numbers. */
const SHORTEST = 12;
/** Names in programs change between letters, digits and cases less often, and have more words. */
const FEWEST_CHANGES = 3;
const MANY_CHANGES = 5;
const MOST_WORDS = 0.35;
const MOST_WORDS_WITH_MANY_CHANGES = 0.6;
/**
 * The end of a value: the end of the text, or a quote and the next value. A name, in contrast, is followed by its
 * value.
 */
const END_OF_VALUE = /={0,2}(?:$|\\{0,4}["'`]\s{0,4}(?:$|[,\]}]))/y;

/** Whether the word `[start, end)` is a piece of a random identifier. */
export function isInIdentifier(text: string, start: number, end: number): boolean {
  const [from, to] = runAround(text, start, end, isAnyBase64, REACH);
  if (to - from < SHORTEST) return false;
  const run = text.slice(from, to);
  const changes = countChanges(run);
  if (matchEnd(END_OF_VALUE, text, to) >= 0) return changes > 0 && wordShare(run) <= MOST_WORDS_WITH_MANY_CHANGES;
  if (changes < FEWEST_CHANGES) return false;
  return wordShare(run) <= (changes < MANY_CHANGES ? MOST_WORDS : MOST_WORDS_WITH_MANY_CHANGES);
}

const CHANGE = /\d(?!\d)|[a-z](?=[A-Z])/g;

/** How many runs of digits there are, and capitals after small letters. */
function countChanges(run: string): number {
  return run.match(CHANGE)?.length ?? 0;
}

/** Padded Base64: groups of four characters (RFC 4648 section 4). */
const PADDED = /^[A-Za-z0-9+/]+={1,2}$/;

/** Whether the token `[start, end)` is a piece of longer text in padded Base64: of a digest. */
export function isInPaddedBase64(text: string, start: number, end: number): boolean {
  const [from, runEnd] = runAround(text, start, end, isBase64, REACH);
  let to = runEnd;
  if (from === start && to === end) return false;
  while (to < text.length && text[to] === "=" && (to - from) % 4 !== 0) to++;
  const run = text.slice(from, to);
  return /[+/]/.test(run) && run.length % 4 === 0 && PADDED.test(run);
}

const RESOURCE_NAME = /(?:^|[^\w])(?:arn|urn|crn|ocid1|projects)[:./][\w:./@-]*$/;
const LONGEST_RESOURCE_NAME = 120;

/** Whether `at` lies in the name of a resource, such as `arn:aws:secretsmanager:…`, which says where a secret is. */
export const isInResourceName = (text: string, at: number): boolean =>
  RESOURCE_NAME.test(text.slice(Math.max(0, at - LONGEST_RESOURCE_NAME), at));
