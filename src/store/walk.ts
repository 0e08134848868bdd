/** Walks through the rows of a table, a page at a time, each page from behind the last row of the one before. */

/** Rows did not come in the order of the tree that holds them: it is damaged. */
export class OutOfOrder extends Error {
  override readonly name = "OutOfOrder";
  /** What SQLite itself would say, had it looked: it takes a tree's order for granted. */
  readonly code = "SQLITE_CORRUPT";
}

/**
 * The place of the last row of a page, which the next page begins behind. Without this a damaged tree, or a number
 * that is read as another one since it is beyond 2^53, would have the same pages come again and again.
 * @throws {OutOfOrder} when it is not behind the place that the page itself began behind
 */
export function goOn<T extends number | string | readonly number[]>(before: T, last: T): T {
  if (!(compare(last, before) > 0)) throw new OutOfOrder("rows do not come in their order");
  return last;
}

/** As SQLite orders them: texts by the bytes of their UTF-8, tuples by their first parts that differ. */
function compare<T extends number | string | readonly number[]>(one: T, other: T): number {
  if (typeof one === "number") return one - (other as number);
  if (typeof one === "string") return Buffer.compare(Buffer.from(one), Buffer.from(other as string));
  const parts = other as readonly number[];
  const at = one.findIndex((part, index) => part !== parts[index]);
  return at < 0 ? 0 : (one[at] as number) - (parts[at] as number);
}
