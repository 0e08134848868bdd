/** The present entries in chunks, which threads have read where there are many. */
import type { Reader } from "../../store/transaction.ts";
import { ALL_ENTRIES, type EntryRange, type PackedEntries, ROWS_AT_ONCE } from "./entry-part.ts";

/** A range, and what was read of it; null when nobody did, or its rows are to go the thorough way. */
export interface EntryChunk {
  range: EntryRange;
  entries: PackedEntries | null;
}

/** All that are to be looked at, in the order in which they are stored. */
export type EntryChunks = AsyncGenerator<EntryChunk>;

/** Those of the whole file; nobody reads ahead. */
export async function* chunksInTurn(): EntryChunks {
  yield { range: ALL_ENTRIES, entries: null };
}

/** Ids of an agent that are held at once. */
const IDS_OF_AGENT = 1 << 18;

/**
 * Those of one agent, which other agents' are not read for. An index knows their ids, but in the order of their
 * keys: they are sorted first.
 */
export async function* chunksOfAgent(reader: Reader, agent: number): EntryChunks {
  const sql = `SELECT json_group_array(id) FROM (SELECT id FROM entries INDEXED BY entries_live
    WHERE agent = ? AND live_to IS NULL AND id > ? AND id <= ? ORDER BY id LIMIT ?)`;
  for (let { after, upTo } = ALL_ENTRIES; ; ) {
    const [list] = (await reader.get<[string]>(sql, [agent, after, upTo, IDS_OF_AGENT])) as [string];
    const ids = JSON.parse(list) as number[];
    for (let start = 0; start < ids.length; start += ROWS_AT_ONCE) {
      const some = ids.slice(start, start + ROWS_AT_ONCE);
      const range = { after, upTo: some.at(-1) as number, ids: JSON.stringify(some) };
      yield { range, entries: null };
      after = range.upTo;
    }
    if (ids.length < IDS_OF_AGENT) return;
  }
}
