/** Reads present entries in the order of their keys. */
import type { Sorting } from "../../../operation-facts.ts";
import type { Reader, Row } from "../../../store/transaction.ts";
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
export async function rowsByKey<R extends Row>(
  reader: Reader,
  agent: AgentState,
  columns: string,
  range: KeyRange,
  nowMs: number,
): Promise<R[]> {
  const keys = keysOf(range);
  const shown = await visible(reader, agent, nowMs);
  const rows = await reader.all<R>(
    `SELECT ${columns} FROM entries WHERE agent = ? AND live_to IS NULL AND ${keys.sql} ${shown.sql}
     ORDER BY key ${range.order ?? "asc"} LIMIT ? OFFSET ?`,
    [agent.firstSeq, ...keys.bound, ...shown.bound, range.limit, range.offset ?? 0],
  );
  const last = rows.at(-1)?.[0] as string | undefined;
  const { after } = range;
  if (last !== undefined && after !== null) range.order === "desc" ? goOn(last, after) : goOn(after, last);
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
