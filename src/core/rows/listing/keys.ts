/** Reads present entries in the order of their keys. */
import type { Sorting } from "../../../operation-facts.ts";
import type { Viewer } from "../../../screen/retention.ts";
import type { MaybePromise, Reader } from "../../../store/transaction.ts";
import type { SqlValue } from "../../../store/values.ts";
import { goOn } from "../../../store/walk.ts";
import type { AgentState } from "../agents.ts";
import { endOfPrefix } from "../entries.ts";
import { compareTexts } from "./order.ts";
import { visible, type Where } from "./parts.ts";

/** The first `limit` keys with a prefix after the key `after`, in ascending or descending order. */
interface KeyRange {
  order: Sorting["order"];
  prefix: string;
  after: string | null;
  limit: number;
  offset?: number;
}

/**
 * Returns rows of some columns; the key is the first column.
 * @throws {OutOfOrder} when the rows are not after `after`
 */
export const rowsByKey = <R extends readonly [key: string, ...unknown[]]>(
  reader: Reader,
  agent: AgentState,
  columns: string,
  range: KeyRange,
  viewer: Viewer,
): Promise<R[]> =>
  readByKey(reader, agent, range, viewer, {
    read: (rest, bound) => reader.all<R>(`SELECT ${columns} FROM entries ${rest}`, bound),
    keyOf: ([key]) => key,
  });

/** How to read rows. `rest` is the query after its tables. */
interface Reading<R> {
  read(rest: string, bound: readonly SqlValue[]): MaybePromise<R[]>;
  keyOf(row: R): string;
}

/** {@link rowsByKey} for rows that are read in another way. */
export async function readByKey<R>(
  reader: Reader,
  agent: AgentState,
  range: KeyRange,
  viewer: Viewer,
  { read, keyOf }: Reading<R>,
): Promise<R[]> {
  const keys = keysOf(range);
  const shown = await visible(reader, agent, viewer);
  const rows = await read(
    `WHERE agent = ? AND live_to IS NULL AND ${keys.sql} ${shown.sql} ORDER BY key ${range.order ?? "asc"} LIMIT ? OFFSET ?`,
    [agent.firstSeq, ...keys.bound, ...shown.bound, range.limit, range.offset ?? 0],
  );
  const last = rows.at(-1);
  const { after } = range;
  if (last !== undefined && after !== null)
    range.order === "desc" ? goOn(keyOf(last), after) : goOn(after, keyOf(last));
  return rows;
}

/**
 * Returns the condition of a range. It has one comparison for each end, so that SQLite begins at the right place of the
 * index.
 */
function keysOf({ prefix, order, after }: KeyRange): Where {
  const end = endOfPrefix(prefix);
  if (order === "desc") {
    const before = after === null || compareTexts(end, after) < 0 ? end : after;
    return { sql: "key >= ? AND key < ?", bound: [prefix, before] };
  }
  const isInside = after !== null && compareTexts(after, prefix) >= 0;
  return { sql: isInside ? "key > ? AND key < ?" : "key >= ? AND key < ?", bound: [isInside ? after : prefix, end] };
}
