/** The items that follow a value in its sentence: after signs, a word for "and", line breaks, or spaces alone. */
import { spend } from "../check.ts";
import type { Span } from "../near.ts";
import { SECRET_WORDS } from "../secrets/secret-words.ts";
import { matchAt, matchEnd } from "../text/ascii.ts";
import { anyOf } from "../words/lists.ts";

/** What joins an item to the one before: a comma or a word for "and"; a sign that is in other places, too. */
type Joiner = "comma" | "sign" | "line" | "space";

export interface Following extends Span {
  joiner: Joiner;
}

const AND = String.raw`(?:${anyOf(SECRET_WORDS.and)}|or|sowie|ou|eller|lub|oraz|nebo|tai|sekä|vagy|sau|ή|veya|ve|или|і|та|и|або|dan|atau|và|hoặc|और|या|&|\+)(?![\p{L}\p{M}])[ \t]{1,2}`;
const COMMA = new RegExp(
  String.raw`[ \t]{0,4}[,;、，；،؛·•][ \t]{0,8}(?:\r?\n[ \t]{0,8})?(?:${AND})?|[ \t]{1,4}${AND}|[ \t]?(?:和|及|或|と|や|および|와|과|และ)[ \t]?|[ \t]و[ \t]?`,
  "uy",
);
const LINE = /[ \t]{0,4}(?:\r?\n|\\n|<br ?\/?>)[ \t]{0,8}/y;
const SIGN = /[ \t]{0,4}[/|\t][ \t]{0,8}/y;
const SPACE = /[ \t]{1,8}/y;
const JOINERS: readonly (readonly [Joiner, RegExp])[] = [
  ["comma", COMMA],
  ["line", LINE],
  ["sign", SIGN],
  ["space", SPACE],
];

/** Closing quotes, and a remark. */
const CLOSE = /(?:\\{0,4}["'`”“»’」*)]){0,3}(?:[ \t]\([^()\n]{1,40}\))?/y;
const OPEN = /(?:[-*•][ \t]+)?(?:\(?\d{1,2}[.)][ \t]+|[a-z]\)[ \t]+)?(?:\\{0,4}["'`“„«‘「*]){0,3}/y;
/** `prod:…,dev:…`: each item has a name of its own. */
const OWN_NAME = /[A-Za-z][\w-]{0,23}[:=](?=[^\s:/=])/y;
/** The characters of an item; a sign at its end is that of the sentence. */
const TOKEN = /[^\s,;|、，；،؛"'`“”„«»‘’「」<>(){}[\]\\]+/y;
const OF_SENTENCE = /[.!?:。]+$/;
const NAMES = /\\{0,4}["'`]?(?:[ \t]?[:：=](?!\/\/)|\()/y;
const HAS_NAME = /^[A-Za-z_][\w.-]*[:=]/;

/**
 * Returns what follows `first`, one part after the other, of as many words as `first` has. It ends at a name, a call or
 * the end of what is joined. The caller says which of it are items. `isNamed`: a name stands before the first one.
 */
export function* following(text: string, first: Span, isNamed = false): Generator<Following> {
  const words = text
    .slice(first.start, first.end)
    .trim()
    .split(/[ \t]+/).length;
  const haveNames = isNamed || matchEnd(OWN_NAME, text, first.start) >= 0;
  let at = first.end;
  for (;;) {
    const closed = Math.max(at, matchEnd(CLOSE, text, at));
    const joined = JOINERS.map(([joiner, pattern]) => ({ joiner, end: matchEnd(pattern, text, closed) })).find(
      ({ end }) => end >= 0,
    );
    if (joined === undefined) return;
    const opened = Math.max(joined.end, matchEnd(OPEN, text, joined.end));
    const start = haveNames ? Math.max(opened, matchEnd(OWN_NAME, text, opened)) : opened;
    const end = endOfWords(text, start, words);
    spend(end - at);
    if (end === start || matchEnd(NAMES, text, end) >= 0 || HAS_NAME.test(text.slice(start, end))) return;
    const isNumbered = /\d/.test(text.slice(joined.end, start));
    yield { start, end, joiner: isNumbered ? "comma" : joined.joiner };
    at = end;
  }
}

/** Returns the place of the word at `at`, after quotes or a number of a list before it; null for none. */
export function firstInline(text: string, at: number): Span | null {
  const start = matchEnd(OPEN, text, at);
  const end = endOfWords(text, start, 1);
  return end > start ? { start, end } : null;
}

/** Returns the end of up to `words` words from `at` on, without the sign that ends a sentence. */
function endOfWords(text: string, at: number, words: number): number {
  let end = at;
  for (let count = 0; count < words; count++) {
    const from = count === 0 ? at : matchEnd(SPACE, text, end);
    const token = from < 0 ? undefined : matchAt(TOKEN, text, from)?.[0];
    if (token === undefined) break;
    const word = token.replace(OF_SENTENCE, "");
    end = from + word.length;
    if (word.length < token.length) break;
  }
  return end;
}
