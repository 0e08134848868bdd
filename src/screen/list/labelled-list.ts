/** A label that stands above or before a list is the label of its items. */
import { type Check, hitOf, spend } from "../check.ts";
import type { Span } from "../near.ts";
import { hasDigit, matchEnd } from "../text/ascii.ts";
import { cellsBelow } from "../text/table.ts";
import { firstInline, following } from "./inline.ts";
import { isValue } from "./item.ts";
import { listBehind } from "./list.ts";

/** How far around the label the beginning of a list is read, UTF-16 code units. */
const REACH_BEFORE = 96;
const REACH_BEHIND = 400;
/** The items that are read to know what a list holds. */
const MOST_ITEMS = 3;
/** The cost of reading the beginning of a list, units. */
const LIST_UNITS = 100;
/** What opens a list, at the end of its label's line or right behind the label. */
const OPENS =
  /[\w"'`*_ \t()\\]{0,24}?(?:[:：=]\s{0,8}(?:\\{0,2}["'`]?[[(]|new |#)|\s{0,4}(?:[:：=]|->)?[ \t*|>_#-]{0,8}\r?\n)/y;
const WORDED_LINE = /[^\n:：=]{1,80}[:：=][ \t*]{0,6}\r?\n/y;

/**
 * Returns the check that also reads a list behind its word: when it finds nothing, it is asked again about the text in
 * which the first items stand beside the word.
 */
export function orInList(check: Check): Check {
  return (text, start, end) => {
    const hit = check(text, start, end);
    return hit ?? inList(check, text, start, end);
  };
}

function inList(check: Check, text: string, start: number, end: number) {
  const isOpened = opensList(text, end);
  if (!isOpened && !SEPARATORS.test(text.slice(end, end + LONGEST_REST)) && matchEnd(SIGNED, text, end) < 0)
    return null;
  spend(LIST_UNITS);
  const from = Math.max(0, start - REACH_BEFORE);
  const around = text.slice(from, end + REACH_BEHIND);
  const listed = isOpened
    ? listBehind(around, end - from).filter((item) => item.name === null || isValue(around, item))
    : [];
  const items = itemsOf(listed, around, start - from, end - from).slice(0, MOST_ITEMS);
  const [first] = items;
  if (first === undefined) return null;
  const gap =
    listed.length === 0
      ? ""
      : around.slice(end - from, listed[0]?.name?.start ?? first.start).replace(NUMBER_OF_ITEM, "");
  const tie = gap.replace(/[\s[\](){}"'`*•+~\\#|>:：=-]+/g, " ").trimEnd();
  let said = `${around.slice(0, end - from)}${tie}: `;
  const places = items.map((item) => {
    const at = said.length;
    said += `${around.slice(item.start, item.end)}, `;
    return { item, at };
  });
  const hit = check(`${said.slice(0, -2)}\n`, start - from, end - from);
  const found = hit && places.findLast(({ at }) => at <= hit.start);
  if (!hit || !found || hit.start < (places[0]?.at ?? 0) || hit.detector === "budget") return null;
  const { item, at } = found;
  return hitOf(hit.detector, from + item.start + hit.start - at, from + Math.min(item.end, item.start + hit.end - at));
}

const NUMBER_OF_ITEM = /(?:\(?(?:\d{1,3}|[a-z])[.):、．]|#\d{1,3}[.):]?)\s*$/i;

/** The items of a list, or else those of a column or of a list in the label's line. */
function itemsOf(listed: readonly Span[], text: string, start: number, end: number): readonly Span[] {
  if (listed.length > 0) return listed;
  const cells = cellsBelow(text, start, end);
  if (cells.length > 0) return cells;
  const signed = matchEnd(SIGNED, text, end);
  const first = signed < 0 ? null : firstInline(text, signed);
  // A single word behind the label, and words that nothing sets apart, were read by the check itself.
  if (first === null || (first.start === signed && !hasDigit(text, first.start, first.end))) return [];
  const items = [first, ...following(text, first).take(MOST_ITEMS)];
  return items.length > 1 ? items : [];
}
const SIGNED =
  /[sS]=|s?["'`*)]{0,3}(?:[ \t]?[:：=]|[ \t](?:are|sind|sont|son|sono|são|är|er|zijn|to|są|jsou))[ \t]{1,2}/y;

/** The rest of the name of a column, and what ends it. */
const SEPARATORS = /^[\w ()-]{0,20}["'`*]{0,2}[ \t]{0,8}(?:[,;|\t]|\r?\n)/;
const LONGEST_REST = 32;

function opensList(text: string, at: number): boolean {
  for (const pattern of [OPENS, WORDED_LINE]) {
    pattern.lastIndex = at;
    if (pattern.test(text)) return true;
  }
  return false;
}
