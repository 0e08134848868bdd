/** The present entries in chunks, which threads have read where there are many. */
import type { Reader } from "../store/transaction.ts";
import { goOn } from "../store/walk.ts";
import type { DatabaseThreads } from "./database-threads.ts";
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

/** Ids of a range that a thread reads at once. */
const IDS_AT_ONCE = 4_096;

/** Those of the whole file; threads read ahead. */
export async function* chunksAhead(reader: Reader, threads: DatabaseThreads): EntryChunks {
  const asked: EntryRange[] = [];
  async function* jobs() {
    for await (const range of ranges(reader)) {
      asked.push(range);
      yield { kind: "entries", range } as const;
    }
  }
  for await (const found of threads.verify(jobs())) {
    const entries = found?.kind === "entries" ? found.entries : null;
    yield { range: asked.shift() as EntryRange, entries };
  }
}

/** Ranges that have an entry each, also where most ids are gone. */
async function* ranges(reader: Reader): AsyncGenerator<EntryRange> {
  const sql = "SELECT min(id) FROM entries WHERE id > ? AND id <= ?";
  for (let { after, upTo } = ALL_ENTRIES; ; ) {
    const [first] = (await reader.get<[number | null]>(sql, [after, upTo])) ?? [null];
    if (first === null) return;
    const last = Math.min(goOn(after, first) - 1 + IDS_AT_ONCE, upTo);
    yield { after: first - 1, upTo: last };
    after = last;
  }
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
