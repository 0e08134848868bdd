/** An item of a list. */
import type { Span } from "../near.ts";

/** The most items that are read. A text with so many findings is one that costs too much to screen. */
export const MOST_ITEMS = 2048;

/** An item, without quotes and bullets. */
export interface Item extends Span {
  /** The name in the list whose value it is, null for an item alone. */
  name: Span | null;
}

/** The names that each item of a list of objects gives to its value: `[{"code": …, "used": …}, …]`. */
const OF_VALUES = /^["'`*]{0,2}(?:code|value|number|pin|\d{1,3})["'`*]{0,2}\s?[:=]?\s{0,8}$/i;

/** Whether an item in `text` is the value that an object has for what its list holds. */
export const isValue = (text: string, { name }: Item): boolean =>
  name !== null && OF_VALUES.test(text.slice(name.start, name.end));
