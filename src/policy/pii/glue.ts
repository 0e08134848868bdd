/** Skips what stands between a label and its value and means nothing. */
import { isAlphanumeric } from "../text/ascii.ts";

const SIGNS = new Uint8Array(128);
for (const sign of " \t\n\r\"'`\\()[]{}<>*_#.:=|,;?!-") SIGNS[sign.charCodeAt(0)] = 1;
/** Signs outside ASCII that stand before numbers. */
const OTHER_SIGNS = /[\u00a0№°º：＝「」『』“”‘’«»→—–]/;
const LETTER = /[\p{L}\p{M}\p{N}]/u;
const LONGEST_WORD = 12;
/** More signs or words than this are no connection any more. */
const MOST_STEPS = 32;
/** Particles of languages that put no space after them. */
const PARTICLES = [
  "번호는",
  "번호",
  "号码是",
  "號碼是",
  "号码",
  "號碼",
  "号は",
  "は",
  "为",
  "為",
  "是",
  "는",
  "은",
  "คือ",
];

const WORDS: ReadonlySet<string> = new Set(
  "number numbers num no nr nbr nummer numero número numéro numer numara numarası numeris numurs čislo číslo id ids code card is are was of for my his her their our your the a an ist lautet est es è é e er är on jest je to with value text string registered olarak issued holder this that and kişi номер є".split(
    " ",
  ),
);

/** The position behind signs and small words, `at` itself when there are none. `extra` adds words. */
export function skipGlue(text: string, at: number, extra?: ReadonlySet<string>): number {
  let position = at;
  for (let step = 0; step < MOST_STEPS && position < text.length; step++) {
    const code = text.charCodeAt(position);
    if (code < 128 ? SIGNS[code] === 1 : OTHER_SIGNS.test(text[position] as string)) {
      position++;
      continue;
    }
    const next = skipWord(text, position, code, extra);
    if (next === position) break;
    position = next;
  }
  return position;
}

function skipWord(text: string, at: number, code: number, extra?: ReadonlySet<string>): number {
  if (code >= 0x0e00) {
    const particle = PARTICLES.find((one) => text.startsWith(one, at));
    if (particle) return at + particle.length;
  }
  let end = at;
  while (end < text.length && end - at <= LONGEST_WORD && isWordUnit(text, end)) end++;
  if (end === at || end - at > LONGEST_WORD) return at;
  const word = text.slice(at, end).toLowerCase();
  return WORDS.has(word) || extra?.has(word) ? end : at;
}

function isWordUnit(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code < 128 ? isAlphanumeric(code) : LETTER.test(text[at] as string);
}

/** The end of the word or number at `at`, or `at` when none begins there. */
export function endOfWord(text: string, at: number): number {
  let end = at;
  while (end < text.length && isWordUnit(text, end)) end++;
  return end;
}
