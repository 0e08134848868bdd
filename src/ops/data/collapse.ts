/** Collapses results of a search that say nearly the same: people and programs tell a memory the same fact many times. */

/** The part of its word triples that a text shares with a better result to be collapsed into it. */
const SHARED = 0.9;
const TRIPLE = 3;

/** Spaces, and punctuation except between digits, where it makes another number. */
const IGNORED = /[\s\p{Z}]+|(?<!\p{N})\p{P}+|\p{P}+(?!\p{N})/gu;
const WORD = /[\p{L}\p{M}\p{N}]+/gu;

interface Text {
  /** Without case, spaces and punctuation. */
  plain: string;
  triples: ReadonlySet<string>;
}

function textOf(value: string): Text {
  const folded = value.normalize("NFKC").toLowerCase();
  const words = folded.match(WORD) ?? [];
  const triples = words.slice(TRIPLE - 1).map((_, at) => words.slice(at, at + TRIPLE).join(" "));
  return { plain: folded.replace(IGNORED, ""), triples: new Set(triples) };
}

function isLike(text: Text, better: Text): boolean {
  if (text.plain === better.plain) return true;
  const { size } = text.triples;
  return size > 0 && text.triples.intersection(better.triples).size >= SHARED * size;
}

/** A result, and the others that were collapsed into it, the best first. */
interface Collapsed<T> {
  best: T;
  others: T[];
}

/** Returns at most `limit` results with what is like each. @param results the best first */
export function collapse<T>(results: readonly T[], textIn: (result: T) => string, limit: number): Collapsed<T>[] {
  const found: (Collapsed<T> & { text: Text })[] = [];
  for (const best of results) {
    const text = textOf(textIn(best));
    const like = found.find((one) => isLike(text, one.text));
    if (like !== undefined) like.others.push(best);
    else if (found.length < limit) found.push({ best, others: [], text });
  }
  return found;
}
