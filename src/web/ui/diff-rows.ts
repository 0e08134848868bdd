/** Two texts as rows of lines beside each other. */
import { diffLines } from "diff";

interface Row {
  before: string | null;
  after: string | null;
  same: boolean;
}

/** Returns the lines of both texts in rows: a removed line is beside the line that replaces it. */
export function diffRows(before: string, after: string): Row[] {
  const rows: Row[] = [];
  let removed: string[] = [];
  let added: string[] = [];
  const flush = () => {
    for (let at = 0; at < Math.max(removed.length, added.length); at++) {
      rows.push({ before: removed[at] ?? null, after: added[at] ?? null, same: false });
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
      rows.push(...lines.map((line) => ({ before: line, after: line, same: true })));
    }
  }
  flush();
  return rows;
}
