/** Two texts as rows of lines beside each other, with the words in which a line differs. */
import { diffLines, diffWordsWithSpace } from "diff";

/** A part of a line. */
export interface Part {
  text: string;
  changed: boolean;
}

interface Row {
  before: string | null;
  after: string | null;
  same: boolean;
  /** The line that was replaced and the one that replaces it, in parts; null when they have little in common. */
  words: { before: readonly Part[]; after: readonly Part[] } | null;
}

/** Words of longer lines are not compared. */
const LONGEST_LINE = 20_000;

/** Lines with more words than these to remove and add have little in common, and would take long to compare. */
const MOST_EDITS = 1_000;

/** Of a line whose words are compared, this share at least is in both. */
const LEAST_COMMON = 0.3;

/** Returns the lines of both texts in rows: a removed line is beside the line that replaces it. */
export function diffRows(before: string, after: string): Row[] {
  const rows: Row[] = [];
  let removed: string[] = [];
  let added: string[] = [];
  const flush = () => {
    for (let at = 0; at < Math.max(removed.length, added.length); at++) {
      const [old = null, next = null] = [removed[at], added[at]];
      rows.push({
        before: old,
        after: next,
        same: false,
        words: old !== null && next !== null ? wordsOf(old, next) : null,
      });
    }
    removed = [];
    added = [];
  };
  for (const part of diffLines(before, after)) {
    const lines = part.value.replace(/\n$/, "").split("\n");
    if (part.removed) removed.push(...lines);
    else if (part.added) added.push(...lines);
    else {
      flush();
      rows.push(...lines.map((line) => ({ before: line, after: line, same: true, words: null })));
    }
  }
  flush();
  return rows;
}

function wordsOf(before: string, after: string): Row["words"] {
  const longest = Math.max(before.length, after.length);
  if (longest > LONGEST_LINE) return null;
  const parts = diffWordsWithSpace(before, after, { maxEditLength: MOST_EDITS });
  if (parts === undefined) return null;
  const common = parts.filter(({ added, removed }) => !added && !removed).map(({ value }) => value.trim());
  if (common.join("").length < LEAST_COMMON * longest) return null;
  const side = (other: "added" | "removed"): Part[] =>
    parts
      .filter((part) => !part[other])
      .map(({ value, added, removed }) => ({ text: value, changed: added || removed }));
  return { before: side("added"), after: side("removed") };
}
