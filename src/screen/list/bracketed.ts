/** The items between brackets. Nested brackets belong to the list; names of members are no items. */
import { spend } from "../check.ts";
import type { Span } from "../near.ts";
import { matchEnd } from "../text/ascii.ts";
import { type Item, MOST_ITEMS } from "./item.ts";

const QUOTE = /\\{0,4}["'`]/y;
const SPACES = /[\s,;]+/y;
/** What makes the text before it the name of a member. */
const NAMES = /[ \t]{0,4}(?:[:：](?!\/\/)|=>|=(?!=))/y;
const COMMENT = /(?:#|\/\/)[^\n]*/y;
const BARE_END = /[,;\n\r[\]{}"`]|[:=][ \t]|$/g;
const CLOSED = "\"'`)]}";

/** Returns the items in the brackets of which the first one is at `at`, up to the bracket that closes it. */
export function bracketed(text: string, at: number): Item[] {
  const items: Item[] = [];
  let position = at;
  // A bracket of a call inside other brackets belongs to an item.
  const [opening, closing] = text[at] === "(" ? ["[{(", "]})"] : ["[{", "]}"];
  let depth = 0;
  let name: Span | null = null;
  do {
    const sign = text[position] as string;
    if (opening.includes(sign)) {
      depth++;
      position++;
    } else if (closing.includes(sign)) {
      depth--;
      position++;
    } else {
      const read = Math.max(matchEnd(SPACES, text, position), matchEnd(COMMENT, text, position));
      if (read > position) {
        if (/[,;\n]/.test(text.slice(position, read))) name = null;
        position = read;
        continue;
      }
      const item = itemAt(text, position);
      position = item.after;
      if (item.isName) name = { start: item.start, end: item.end };
      else if (item.end > item.start) items.push({ start: item.start, end: item.end, name });
    }
  } while (depth > 0 && position < text.length && items.length < MOST_ITEMS);
  spend(position - at);
  return items;
}

/** Returns what begins at `at`, whether it is a name, and where what follows it begins. */
function itemAt(text: string, at: number): Span & { isName: boolean; after: number } {
  const opened = matchEnd(QUOTE, text, at);
  const item = opened >= 0 ? quotedAt(text, at, opened) : bareAt(text, at);
  const after = opened >= 0 ? Math.min(text.length, item.end + opened - at) : Math.max(item.end, at + 1);
  const named = matchEnd(NAMES, text, after);
  return named >= 0 ? { ...item, isName: true, after: named } : { ...item, isName: false, after };
}

/** The text in quotes, up to the same sign with the same number of escapes before it. */
function quotedAt(text: string, at: number, start: number): Span {
  const quote = text.slice(at, start);
  let end = text.indexOf(quote, start);
  while (quote.length === 1 && end > start && isEscaped(text, end)) end = text.indexOf(quote, end + 1);
  return { start, end: end < 0 ? text.length : end };
}

function isEscaped(text: string, at: number): boolean {
  let before = at;
  while (text[before - 1] === "\\") before--;
  return (at - before) % 2 === 1;
}

function bareAt(text: string, start: number): Span {
  BARE_END.lastIndex = start;
  const limit = BARE_END.exec(text)?.index ?? text.length;
  let end = limit;
  while (end > start && (/\s/.test(text[end - 1] as string) || CLOSED.includes(text[end - 1] as string))) end--;
  return { start, end };
}
