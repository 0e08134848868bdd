/**
 * How much a run of letters looks like a word: which three-letter sequences occur in ordinary English
 * and in the larger European languages. Random letters hit unseen sequences most of the time, words
 * hardly ever, so a password of letters alone can be told from a name in a program.
 */
import sequences from "./sequences.txt" with { type: "text" };

const WORD_END = 26;
const ROW = 27;
/** Above this share of unseen sequences a run is not a word. */
const UNSEEN_SHARE = 0.34;

/**
 * One bit per sequence, over (start or a..z) x (a..z) x (a..z or end), least significant bit first,
 * base64. Made from the words that occur in 30 or more of 4,000 software manuals.
 */
const bits = Buffer.from(sequences, "base64");

function seen(first: number, second: number, third: number): boolean {
  const index = (first * 26 + second) * ROW + third;
  return ((bits[index >> 3] as number) & (1 << (index & 7))) !== 0;
}

/** Sequences in a run of ASCII letters that no ordinary word has. */
function unseenSequences(run: string): number {
  let unseen = 0;
  // 0 is the start of a word, 1..26 are letters.
  let first = 0;
  let second = letter(run, 0);
  for (let i = 1; i <= run.length; i++) {
    const third = i < run.length ? letter(run, i) : WORD_END;
    if (!seen(first, second, third)) unseen++;
    first = second + 1;
    second = third;
  }
  return unseen;
}

function letter(text: string, at: number): number {
  return (text.charCodeAt(at) | 32) - 97;
}

/** Whether a run of ASCII letters could be a word (or is too short to tell). */
export function isWordlike(run: string): boolean {
  return run.length < 3 || unseenSequences(run) <= run.length * UNSEEN_SHARE;
}
