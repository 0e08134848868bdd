/**
 * Finds the value that a name announces: in JSON, YAML, .env, shell, SQL, XML, code, a table or a
 * sentence. Hand-written and bounded: every step looks at a fixed number of characters.
 */
import { isDigit, matchEnd } from "../text/ascii.ts";
import { isWordUnit } from "../text/units.ts";
import { anyOf } from "../words/lists.ts";
import { isMangled } from "./plausible.ts";
import { SENTENCE_WORDS } from "./sentence-words.ts";

/** How the value is tied to the name. */
type Link = "assigned" | "said" | "beside";

export interface Assigned {
  start: number;
  end: number;
  link: Link;
  quoted: boolean;
  /** A word for "is" stands before the value. */
  copula: boolean;
}

const LONGEST_VALUE = 512;
/** From here on, scripts without spaces, in which a sentence continues directly after a value: "…は abc123です". */
const FIRST_OF_EAST_ASIA = 0x3000;
/** Quotes and brackets that close the name. */
const CLOSE = /(?:\\{0,4}["'`*]){0,3}[\])]{0,2}(?:\\{0,4}["'`]){0,1}/y;
/** A type between name and operator: Go, TypeScript, Rust, Kotlin. */
const TYPE =
  /\s{0,4}(?::\s{0,2}[&*]?[A-Za-z]{1,12}(?:<[a-z]{1,12}>)?\s{0,4}(?==)|\s[*&]{0,1}(?:string|String|str|char|text)\s{1,4}(?==))/y;
const OPERATOR =
  /[\s\u00a0]{0,24}(?:[:?+.!|]{0,3}={1,3}>?|=>|->|<-|:{1,3}(?!\/\/)|\|{1,2}|>|,(?!\s(?:that's|which is|das ist|c'est|eso es|è|é)\s))\s{0,24}/y;
/** Name and value as two members or attributes: `key="…" value="…"`, `"name": "…", "value": "…"`, `<value>`. */
const PAIR =
  /["']?(?:\s{1,3}[\w:]{1,24}=["'][^"'\n]{0,40}["']){0,3}(?:,\s{0,8}["']\w{1,24}["']\s?:\s?["'][^"'\n]{0,40}["']){0,2}[\s,;]{0,24}(?:\/?>\s{0,24}<|\{[^{}]{0,160}?[\s"'](?=default))?["'<]?(?:value|val|v|data|default|content|contents|stringvalue|text|input|keys|answer|secret_?value)["']?(?:\s{0,4}(?::|=>?)\s{0,4}|>\s{0,8})/iy;
const COPULAS = anyOf(SENTENCE_WORDS.copulas);
const SAID = new RegExp(
  String.raw`(?::|,(?=\s(?:that's|which is|das ist|c'est|eso es|è|é)\s))?[ \t]{1,3}(?:${COPULAS}|that's|which is|das ist|eso es|are|sind|sont|son|sono|zijn|są|jsou|be|equals|set to|changed to|reset to|now|on|e|е|az)(?![\p{L}\p{M}\p{N}]):?\s{1,3}(?:(?:now|set to|just|still|the (?:phrase|sentence|word)|der satz|das wort|la phrase|la frase|il motto|de zin|het woord|zdanie|fráze|věta|frasen|ordet|lause|a mondat|φράση|фраза|слово|jetzt|nun|ahora|agora|ora|maintenant|nu|nå|nyt|teraz|teď|nyní|artık|теперь|сейчас|тепер)\s)?|[ \t]{0,2}(?:是|为|為|は|이|는|은|คือ)[ \t]{0,2}|[ \t](?:-|to)[ \t](?=["„])`,
  "iuy",
);
const BESIDE = /[ \t]{1,24}/y;
const SAID_BEGINS: ReadonlySet<string> = new Set(
  [
    ...SENTENCE_WORDS.copulas,
    "that",
    "which",
    "das",
    "eso",
    "are",
    "sind",
    "sont",
    "son",
    "sono",
    "zijn",
    "są",
    "jsou",
    "be",
    "equals",
    "set",
    "changed",
    "reset",
    "now",
    "on",
    "e",
    "az",
    "to",
  ].map((words) => words.split(" ")[0] as string),
);
/** Text that may precede the value: a call, a byte-string mark, brackets, a default of an environment lookup. */
const OPEN =
  /(?:!unsafe\s{1,2})?(?:[A-Za-z_.:]{1,24}\(\s{0,2}(?:["'][\w.-]{1,48}["']\s{0,2},\s{0,2})?)?(?:\[\](?:byte|string|rune)?[({]|[[({]\s{0,2}){0,1}[bfru@$]{0,2}(?=["'`\\])/y;
const QUOTE = /\\{0,4}["'`]{1,3}/y;
const EMPTY_VALUE = /^(?:""|''|``)$/;
const LIST_OPEN = /[[({<]\s{0,2}/y;
const SPACE = /\s/;
/** Code units that end a run: 1 for spaces, 2 for others that end a value without quotes. */
const ENDS = Uint8Array.from({ length: 128 }, (_, code) => {
  const sign = String.fromCharCode(code);
  if (SPACE.test(sign)) return 1;
  return "\"'`,;<>(){}[]|".includes(sign) ? 2 : 0;
});
const isBlank = (text: string, at: number): boolean => text[at] === " " || text[at] === "\u00a0";
const isSpace = (text: string, at: number): boolean => {
  const code = text.charCodeAt(at);
  return code < 128 ? ENDS[code] === 1 : SPACE.test(text[at] as string);
};
const isBareEnd = (text: string, at: number): boolean => isSpace(text, at) || ENDS[text.charCodeAt(at)] === 2;

/** Returns the value that the name ending at `at` announces, or null. */
export function valueAfter(text: string, at: number): Assigned | null {
  let position = skip(CLOSE, text, at);
  const paired = skip(PAIR, text, position);
  if (paired !== position) return valueAt(text, paired, "assigned");
  position = skip(TYPE, text, position);
  let next = skip(OPERATOR, text, position);
  let link: Link = "assigned";
  let copula = false;
  if (text[position] === ">" && next !== position && text[next] === "@") return null;
  if (next === position) {
    next = skipCopula(text, position);
    link = "said";
    copula = next !== position;
  }
  if (next === position) {
    const filled = endOfFiller(text, position);
    if (filled >= 0) {
      next = skip(OPERATOR, text, filled);
      if (next === filled) {
        next = skipCopula(text, filled);
        copula = next !== filled;
      }
      if (next === filled) return null;
    }
  }
  if (next === position) {
    next = skip(BESIDE, text, position);
    link = "beside";
  }
  if (next === position) return null;
  const value = valueAt(text, next, link);
  return value && { ...value, copula };
}

/** Returns the value that begins at `at`: the quoted text, or the run up to a separator. */
function valueAt(text: string, at: number, link: Link): Assigned | null {
  const opened = skip(OPEN, text, at);
  const inside = skip(QUOTE, text, opened);
  if (inside !== opened) {
    if (EMPTY_VALUE.test(text.slice(opened, inside))) return null;
    const quote = text[inside - 1] as string;
    const limit = Math.min(text.length, inside + LONGEST_VALUE);
    let end = inside;
    while (end < limit && text[end] !== quote && text[end] !== "\n") end++;
    while (end > inside && text[end - 1] === "\\") end--;
    // "« … »" has spaces inside.
    const isPadded = end - inside > 2 && isBlank(text, inside) && isBlank(text, end - 1);
    const start = isPadded ? inside + 1 : inside;
    if (isPadded) return { start, end: end - 1, link, quoted: text[end] === quote, copula: false };
    return end > inside
      ? { start: inside, end, link, quoted: text[end] === quote || text[end] === "\\", copula: false }
      : null;
  }
  const typeset = typesetAt(text, at, link);
  if (typeset !== null) return typeset;
  // The line after an operator at the end of a line is the next setting.
  if (link === "assigned" && /=\s*\n\s*$/.test(text.slice(Math.max(0, at - 8), at))) return null;
  const start = skip(LIST_OPEN, text, at);
  const limit = Math.min(text.length, start + LONGEST_VALUE);
  let run = at;
  while (run < limit && !isSpace(text, run)) run++;
  if (isMangled(text.slice(at, run))) return { start: at, end: run, link, quoted: false, copula: false };
  const isAscii = text.charCodeAt(start) < 0x80;
  let end = start;
  while (end < limit && !isBareEnd(text, end) && !(isAscii && text.charCodeAt(end) >= FIRST_OF_EAST_ASIA)) end++;
  const parameter = /&[A-Za-z_]\w{0,40}=|&&$/.exec(text.slice(start, end));
  if (parameter) end = start + parameter.index;
  // The sentence's own punctuation, and an escape that ends a line.
  while (end > start && /[.,;:?\\]/.test(text[end - 1] as string)) end--;
  return end > start ? { start, end, link, quoted: false, copula: false } : null;
}

/** The closing mark for each opening typographic quote. */
const CLOSERS: Readonly<Record<string, RegExp>> = {
  "“": /[”“]/,
  "„": /[“”"]/,
  "«": /»/,
  "»": /«/,
  "‘": /’/,
  "‚": /[‘’]/,
  "「": /」/,
  "『": /』/,
};

/** The text between typographic quotes, within a line. */
function typesetAt(text: string, at: number, link: Link): Assigned | null {
  const closer = CLOSERS[text[at] ?? ""];
  if (closer === undefined) return null;
  const quoted = text.slice(at + 1, at + 1 + LONGEST_TYPESET);
  const length = quoted.search(closer);
  const said = quoted.slice(0, Math.max(0, length));
  const value = said.trim();
  if (value === "" || said.includes("\n")) return null;
  const start = at + 1 + said.indexOf(value);
  return { start, end: start + value.length, link, quoted: true, copula: false };
}
const LONGEST_TYPESET = 80;

/** Between the name and its operator, as in "the password for the staging box is". */
const MOST_FILLERS = 7;
const LONGEST_FILLER = 26;
/** The first word of each copula. */
const COPULA_BEGINS: ReadonlySet<string> = new Set(
  SENTENCE_WORDS.copulas.map((words) => words.split(" ")[0] as string),
);

const ARROWS = ["-> ", "=> ", "→ "];

/**
 * Returns the end of the words between the name and the sign or word that ties it to its value; -1 when nothing does.
 */
function endOfFiller(text: string, at: number): number {
  let end = at;
  for (let count = 0; count < MOST_FILLERS; count++) {
    const start = skipBlanks(text, end, 2);
    if (start === end) return -1;
    const wordEnd = endOfFillerWord(text, start);
    if (wordEnd < 0) return -1;
    end = wordEnd;
    const next = skipBlanks(text, end, 3);
    const sign = text[next];
    if (next - end <= 2 && (sign === ":" || (sign === "=" && text[next + 1] !== "="))) return end;
    // In Russian a dash is the word for "is"; dashes of print are read as hyphens.
    if (next > end && sign === "-" && text[next + 1] === " ") return end;
    if (next > end && ARROWS.some((arrow) => text.startsWith(arrow, next))) return end;
    // "to" is Polish for "is" only before what is quoted.
    if (next > end && text.startsWith("to ", next) && '"„'.includes(text[next + 3] ?? " ")) return end;
    if (next > end && COPULA_BEGINS.has(wordAt(text, next))) return end;
  }
  return -1;
}

/** "passphrase for key '/home/ana/id_rsa':", the prompt of a program. */
const QUOTED_FILLER = /(["'])[^"'\n]{1,80}\1(?=\s?:)/y;

function endOfFillerWord(text: string, at: number): number {
  const quoted = matchEnd(QUOTED_FILLER, text, at);
  if (quoted >= 0) return quoted;
  const from = text[at] === "(" ? at + 1 : at;
  if (!isWordUnit(text, from) || isDigit(text.charCodeAt(from))) return -1;
  let end = from;
  while (end - from < LONGEST_FILLER && (isWordUnit(text, end) || "'’./-".includes(text[end] ?? " "))) end++;
  // The end of a sentence ends the search.
  if (text[end - 1] === "." && end - from > LONGEST_ABBREVIATION) return -1;
  return text[end] === ")" ? end + 1 : end;
}

const LONGEST_ABBREVIATION = 5;

function skipBlanks(text: string, at: number, most: number): number {
  let end = at;
  while (end - at < most && (text[end] === " " || text[end] === "\t")) end++;
  return end;
}

const LONGEST_COPULA = 12;

function wordAt(text: string, at: number): string {
  let end = at;
  while (end - at < LONGEST_COPULA && isWordUnit(text, end)) end++;
  return text.slice(at, end).toLowerCase();
}

const HYPHEN = 0x2d;

/** Skips a word for "is". Most other words are ruled out without the pattern. */
function skipCopula(text: string, at: number): number {
  const next = skipBlanks(text, text[at] === ":" || text[at] === "," ? at + 1 : at, 3);
  const code = text.charCodeAt(next);
  if (code < 128 && code !== HYPHEN && !SAID_BEGINS.has(wordAt(text, next))) return at;
  return skip(SAID, text, at);
}

function skip(pattern: RegExp, text: string, at: number): number {
  const end = matchEnd(pattern, text, at);
  return end < 0 ? at : end;
}
