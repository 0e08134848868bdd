/** The items of a list that has one in each line. */
import { spend } from "../check.ts";
import { matchEnd } from "../text/ascii.ts";
import { type Item, MOST_ITEMS } from "./item.ts";

/** A bullet, a number or a letter, a box to tick, the mark of a quotation. */
const BULLET =
  /[ \t]*(?:>[ \t]?)*(?:[-*+–—→][ \t]+|[•‣◦·▪●○■□☐☑✓✔][ \t]*|\(?\d{1,3}[.):、．][ \t]+|\(?[A-Za-z][.)][ \t]+|#\d{1,3}[.):]?[ \t]+|[①-⑳][ \t]*)(?:\[[ xX]?\][ \t]+)?/y;
const INDENT = /[ \t]*(?:>[ \t]?)*/y;
/** A name of the item: `- mail: Zimtstern7`, `  mail: Zimtstern7`. */
const NAME =
  /["'`*]{0,2}[\p{L}_][\p{L}\p{M}\d_.\-/ ()]{0,40}["'`*]{0,2}[ \t]?(?:[:：](?:\*\*)?[ \t]{1,8}|=(?![=>])[ \t]{0,8})(?=\S)/uy;
const NAME_ALONE = /["'`*]{0,2}[\p{L}_][\p{L}\p{M}\d_.-]{0,40}["'`*]{0,2}[ \t]?[:：=]/uy;
const COMMENT = /[ \t]*(?:#|;|\/\/)[ \t]/y;
/** What follows an item in its line: a remark, a comment. */
const REMARK = /[ \t]+(?:[(#–—]|-[ \t]|\/\/)|[ \t]*[,;](?:[ \t]|$)/;
const QUOTES = "\"'`“”„«»‘’「」,;*~";
const STRING_QUOTE = /["`]/g;
/** What stands behind the end of a string of JSON or of a program. */
const BEHIND_STRING = /[ \t]*(?:[,}\])]|$)/y;
/** A line that ends a list without bullets: a sentence. */
const SENTENCE = /(?:^|\s)\p{L}+[.,]?\s+(?:\S+\s+)*?\p{L}{2,}[.!?]?$/u;

/** A line of one word with a digit, before another blank line. */
const SPACED = /[ \t]*(?=\S{0,64}\d)\S{3,64}[ \t]*(?:\r?\n[ \t]*(?:\r?\n|$)|$)/y;

interface Line {
  start: number;
  end: number;
  /** Where its text begins, after bullet and indentation. */
  content: number;
  isBullet: boolean;
  indent: number;
}

/**
 * Returns the items of the lines from `at` on, the beginning of a line. `label` is a place in the label's line; a list
 * whose lines have names is indented more than that line, unless the label is a heading in brackets. Lines without
 * bullets are a list only behind a sign.
 */
export function lined(text: string, at: number, label: number, tie: "none" | "signed" | "heading"): Item[] {
  const labelIndent = tie === "heading" ? -1 : indentOf(text, text.lastIndexOf("\n", label - 1) + 1);
  const items: Item[] = [];
  let first: Line | undefined;
  let blanks = 0;
  let position = at;
  while (position < text.length && items.length < MOST_ITEMS) {
    const line = lineAt(text, position);
    position = line.end + 1;
    if (matchEnd(COMMENT, text, line.start) >= 0) continue;
    const isBlank = text.slice(line.content, line.end).trim() === "";
    if (isBlank && (first === undefined || first.isBullet) && !line.isBullet) {
      if (isSeparate(text, position)) break;
      continue;
    }
    // A blank line between each two.
    if (isBlank && tie === "signed" && items.length === blanks + 1 && matchEnd(SPACED, text, position) >= 0) {
      blanks++;
      continue;
    }
    first ??= line;
    if (isBlank || (!first.isBullet && tie === "none")) break;
    if (tie === "heading" && text[line.content] === "[") break;
    if (line.indent < first.indent) break;
    if (line.isBullet !== first.isBullet) {
      if (line.indent === first.indent) break;
      // A line that continues an item, unless it is a member of it.
      if (first.isBullet && matchEnd(NAME, text, line.content) < 0) continue;
    }
    const closed = endOfString(text.slice(line.content, line.end));
    if (closed === 0) break;
    const item = itemIn(text, closed < 0 ? line : { ...line, end: line.content + closed }, labelIndent);
    if (item === null) break;
    if (item.end > item.start) items.push(item);
    if (closed > 0) break;
  }
  spend(position - at);
  return items;
}

/** Returns where the string ends in which the list is: at a quote that none in its line opened; -1 for nowhere. */
function endOfString(line: string): number {
  const open = new Set<string>();
  for (const { index, 0: quote } of line.matchAll(STRING_QUOTE)) {
    if (open.delete(quote)) continue;
    if (matchEnd(BEHIND_STRING, line, index + 1) >= 0) return index;
    open.add(quote);
  }
  return -1;
}

/** Whether another blank line follows. */
const isSeparate = (text: string, at: number): boolean => /^[ \t]*(?:\r?\n|$)/.test(text.slice(at, at + 40));

const indentOf = (text: string, at: number): number => Math.max(at, matchEnd(INDENT, text, at)) - at;

function lineAt(text: string, start: number): Line {
  const next = text.indexOf("\n", start);
  const end = next < 0 ? text.length : next;
  const bullet = matchEnd(BULLET, text, start);
  const indent = indentOf(text, start);
  const isBullet = bullet >= 0 && bullet <= end && !/^[-=*~]{3,}/.test(text.slice(start + indent, end));
  return { start, end, content: isBullet ? bullet : start + indent, isBullet, indent };
}

/** The item of a line; empty when the line has a name alone, null when the line is none of the list. */
function itemIn(text: string, { start, end, content, isBullet, indent }: Line, labelIndent: number): Item | null {
  const named = matchEnd(NAME, text, content);
  const hasName = named >= 0 && named < end;
  if (!isBullet && (hasName || matchEnd(NAME_ALONE, text, content) >= 0) && indent <= labelIndent) return null;
  if (!hasName && matchEnd(NAME_ALONE, text, content) === end) return { start, end: start, name: null };
  const from = hasName ? named : content;
  const line = text.slice(from, end);
  if (!isBullet && !hasName && SENTENCE.test(line.trim())) return null;
  const remark = line.search(REMARK);
  let [first, last] = [from, remark > 0 ? from + remark : end];
  while (first < last && (QUOTES.includes(text[first] as string) || /\s/.test(text[first] as string))) first++;
  while (last > first && (QUOTES.includes(text[last - 1] as string) || /\s/.test(text[last - 1] as string))) last--;
  const name = hasName ? { start: content, end: named } : null;
  return start <= first ? { start: first, end: last, name } : null;
}
