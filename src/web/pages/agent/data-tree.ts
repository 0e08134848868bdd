/** Keys as a tree: the entries directly under a prefix, and the groups below it. */
import type { EntryItem } from "../../api/types.ts";

/** Characters that separate the parts of keys. */
const SEPARATOR = /[/:]/;

export type TreeRow =
  | { kind: "entry"; entry: EntryItem; name: string }
  | { kind: "group"; prefix: string; name: string; count: number };

/** Returns rows for the entries under a prefix. A group is where the first of its keys would be. */
export function treeRows(entries: readonly EntryItem[], prefix: string): TreeRow[] {
  const rows: TreeRow[] = [];
  const groups = new Map<string, Extract<TreeRow, { kind: "group" }>>();
  for (const entry of entries) {
    const rest = entry.key.slice(prefix.length);
    const at = rest.search(SEPARATOR);
    // A key that ends with its separator is an entry, not a group with one nameless entry.
    if (at === -1 || at === rest.length - 1) {
      rows.push({ kind: "entry", entry, name: rest === "" ? entry.key : rest });
      continue;
    }
    const name = rest.slice(0, at + 1);
    const known = groups.get(name);
    if (known !== undefined) {
      known.count++;
    } else {
      const group = { kind: "group" as const, prefix: prefix + name, name, count: 1 };
      groups.set(name, group);
      rows.push(group);
    }
  }
  return rows;
}

/** Returns the steps to a prefix: `a/b/` has `a/` and `a/b/`. */
export const steps = (prefix: string): { prefix: string; name: string }[] =>
  [...prefix.matchAll(/[^/:]*[/:]|[^/:]+$/g)].map(({ 0: name, index }) => ({
    prefix: prefix.slice(0, index + name.length),
    name,
  }));
