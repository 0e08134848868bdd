/** Collapses results of a search that say nearly the same: people and programs tell a memory the same fact many times. */
import { nextTurn } from "../../timer.ts";

/** The part of its word triples that a text shares with a better result to be collapsed into it. */
const SHARED = 0.9;
const TRIPLE = 3;
/** Longer texts, UTF-16 units, are like equal ones only, since comparing them takes long. */
const LONGEST_COMPARED = 20_000;

/** Spaces, and punctuation except between digits, where it makes another number. */
const IGNORED = /[\s\p{Z}]+|(?<!\p{N})\p{P}+|\p{P}+(?!\p{N})/gu;
const WORD = /[\p{L}\p{M}\p{N}]+/gu;

interface Text {
  /** Without case, spaces and punctuation. */
  plain: string;
  triples: ReadonlySet<string>;
}

function textOf(value: string): Text {
  if (value.length > LONGEST_COMPARED) return { plain: value, triples: new Set() };
  const folded = value.normalize("NFKC").toLowerCase();
  const words = folded.match(WORD) ?? [];
  const triples = words.slice(TRIPLE - 1).map((_, at) => words.slice(at, at + TRIPLE).join(" "));
  return { plain: folded.replace(IGNORED, ""), triples: new Set(triples) };
}

function isLike({ plain, triples }: Text, better: Text): boolean {
  if (plain === better.plain) return true;
  let others = Math.floor(triples.size * (1 - SHARED) + Number.EPSILON * triples.size);
  if (triples.size === 0 || better.triples.size < triples.size - others) return false;
  for (const triple of triples) if (!better.triples.has(triple) && --others < 0) return false;
  return true;
}

/** A result, and the others that were collapsed into it, the best first. */
interface Collapsed<T> {
  best: T;
  others: T[];
}

/** Returns at most `limit` results with what is like each. @param results the best first */
export async function collapse<T>(
  results: readonly T[],
  textIn: (result: T) => string,
  limit: number,
): Promise<Collapsed<T>[]> {
  const found: (Collapsed<T> & { text: Text })[] = [];
  for (const best of results) {
    const text = textOf(textIn(best));
    const like = found.find((one) => isLike(text, one.text));
    if (like !== undefined) like.others.push(best);
    else if (found.length < limit) found.push({ best, others: [], text });
    await nextTurn();
  }
  return found;
}
