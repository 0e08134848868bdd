/** An item of a list. */
import type { Place } from "../near.ts";

/** The most items that are read. A text with so many findings is one that costs too much to screen. */
export const MOST_ITEMS = 2048;

/** An item, without quotes and bullets. */
export interface Item extends Place {
  /** The name in the list whose value it is, null for an item alone. */
  name: Place | null;
}
