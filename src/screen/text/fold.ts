/**
 * Character folding for finding anchors: case, accents, full-width and other compatible forms, and
 * look-alike letters all become one plain code unit, for the dictionary and for the text alike.
 */
import { readings } from "../words/lists.ts";

/** Letters of other scripts that are drawn like a Latin one. */
const LOOK_ALIKE = readings("look-alikes");

/** Blocks whose code units fold to others; the rest (Han, Hangul, surrogates) fold to themselves. */
const FOLDED_BLOCKS: readonly [number, number][] = [
  [0x00, 0x24ff],
  [0x3000, 0x30ff],
  [0xfb00, 0xfb06],
  [0xff00, 0xffef],
];

const SPACE = 0x20;
/** Between code units that are normalised together: it composes with nothing, and nothing decomposes to it. */
const BETWEEN = "\u4e00";
const table = buildTable();

function buildTable(): Uint16Array {
  const folded = new Uint16Array(0x10000);
  for (let code = 0; code < 0x10000; code++) folded[code] = code;
  for (const [first, last] of FOLDED_BLOCKS) {
    for (const [i, base] of basesOf(first, last).entries())
      folded[first + i] = (LOOK_ALIKE.get(base) ?? base).charCodeAt(0) || first + i;
  }
  // The parts of a name are joined in many ways; to the dictionary they are all the same.
  for (const joiner of "_-.\t\n\r\u2010\u2011\u2012\u2013") folded[joiner.charCodeAt(0)] = SPACE;
  return folded;
}

/**
 * The small letters without accents of all code units from `first` to `last`. A separate call for each would take ten
 * times as long.
 */
function basesOf(first: number, last: number): string[] {
  const units = Array.from({ length: last - first + 1 }, (_, i) => String.fromCharCode(first + i));
  const plain = units.join(BETWEEN).normalize("NFKD").toLowerCase().normalize("NFD");
  return plain.split(BETWEEN).map((unit) => unit.charAt(0));
}

/** The folded code unit of each code unit. */
export const FOLD: Readonly<Uint16Array> = table;

/** Words of a dictionary, folded as the text will be: the code units of all, and where those of each word end. */
export interface FoldedWords {
  units: Uint16Array;
  ends: Uint32Array;
}

/** Returns code units instead of texts, since a dictionary has ten thousand words and each thread builds its own. */
export function foldWords(words: readonly string[]): FoldedWords {
  const units = new Uint16Array(words.reduce((sum, word) => sum + word.length, 0));
  const ends = new Uint32Array(words.length);
  let end = 0;
  for (const [id, word] of words.entries()) {
    for (let i = 0; i < word.length; i++) {
      const code = word.charCodeAt(i);
      // A combining mark belongs to the letter before it.
      if (code < 0x300 || code > 0x36f) units[end++] = table[code] as number;
    }
    ends[id] = end;
  }
  return { units: units.subarray(0, end), ends };
}

/** Code units of LOOK_ALIKE, capitals too, and the Latin ones they are read as. */
const LOOK_ALIKE_CODES: ReadonlyMap<number, number> = new Map(
  [...LOOK_ALIKE]
    .flatMap(([from, to]) => [[from, to] as const, [from.toUpperCase(), to.toUpperCase()] as const])
    .filter(([from]) => from.length === 1)
    .map(([from, to]) => [from.charCodeAt(0), to.charCodeAt(0)]),
);

/** A Latin and a Cyrillic or Greek letter in one word: no language writes so. */
const MIXED = /[A-Za-z][\u0370-\u052f]|[\u0370-\u052f][A-Za-z]/;

/** `text` with its look-alikes made Latin, unit for unit; null when no word mixes scripts. */
export function latinText(text: string): string | null {
  if (!MIXED.test(text)) return null;
  const units = new Uint16Array(text.length);
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    units[i] = code < 0x80 ? code : (LOOK_ALIKE_CODES.get(code) ?? code);
  }
  return new TextDecoder("utf-16le").decode(units);
}
