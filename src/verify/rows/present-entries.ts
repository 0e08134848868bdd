/** Compares the stored present entries with the last write of each key. */
import { SHA256 } from "bun";
import { Bytes } from "../../log/bytes.ts";
import type { Reader } from "../../store/transaction.ts";
import { goOn } from "../../store/walk.ts";
import type { EntryCheck } from "./entries.ts";
import type { StoredLife } from "./entry.ts";
import { type EntryOfFile, presentPage } from "./entry-pages.ts";
import {
  ALL_ENTRIES,
  ENTRY_NUMBERS,
  type EntryRange,
  type PackedEntries,
  ROWS_AT_ONCE,
  readEntryPart,
} from "./entry-part.ts";
import type { Replay } from "./expected/replay.ts";
import { type KeyPlace, NEVER, type StoredWrite } from "./expected/writes.ts";

/** A range of present entries. `entries` is null when nothing was read ahead, or the plain path must read them. */
interface EntryChunk {
  range: EntryRange;
  entries: PackedEntries | null;
}

/** The ranges to check, in the order of ids. */
export type EntryChunks = AsyncGenerator<EntryChunk>;

/** Yields the present entries of the whole file, without reading ahead. */
export async function* chunksInTurn(): EntryChunks {
  yield { range: ALL_ENTRIES, entries: null };
}

/** The ids of an agent that are in memory at once. */
const IDS_OF_AGENT = 1 << 18;

/** Yields the present entries of one agent. An index has their ids in the order of keys, so they are sorted first. */
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

/**
 * The rows of a page on the plain path when all entries take it. Otherwise it is the size of one page of the fast path.
 */
const MANY_ROWS = 500;

/** The replay with which present entries are compared, and the checks of those that differ. */
interface PresentSink {
  replay: Replay;
  /** The checks by `agents.first_seq`. Rows without an agent are skipped; the count of all rows detects them. */
  checks: ReadonlyMap<number, EntryCheck>;
}

/** Checks all present entries. */
export async function takePresent(reader: Reader, chunks: EntryChunks, sink: PresentSink): Promise<void> {
  for await (const { range, entries } of chunks) {
    if (entries === null || !takeProved(entries, sink)) await takeInTurn(reader, range, sink);
  }
}

async function takeInTurn(reader: Reader, range: EntryRange, sink: PresentSink): Promise<void> {
  for (let { after } = range; after < range.upTo; ) {
    const rest: EntryRange = { ...range, after };
    const { overflowed } = sink.replay;
    const part = overflowed ? null : await readEntryPart(reader, rest, ROWS_AT_ONCE);
    if (part !== null && takeProved(part.entries, sink)) {
      if (part.entries.count < ROWS_AT_ONCE) return;
      after = part.last;
      continue;
    }
    const page = await presentPage(reader, rest, overflowed ? MANY_ROWS : ROWS_AT_ONCE);
    for (const entry of page.entries) checkOf(entry, sink)?.other(entry);
    if (page.last === null) return;
    after = goOn(after, page.last);
  }
}

const checkOf = ({ agent }: EntryOfFile, { checks }: PresentSink) => (agent === null ? undefined : checks.get(agent));

/** Marks entries as found if the log proves all of them in all columns; otherwise marks none, and returns false. */
function takeProved({ count, numbers, ends, bytes }: PackedEntries, { replay, checks }: PresentSink): boolean {
  const text = new Bytes(bytes);
  const slots = new Int32Array(count);
  const place = { text, start: 0, end: 0 };
  const row = { seq: 0, timeMs: 0, created: 0, createdMs: 0, expiresMs: NEVER };
  /** Unpacks a row. Returns the check of its agent. */
  const read = (index: number): EntryCheck | undefined => {
    const at = ENTRY_NUMBERS * index;
    place.start = index === 0 ? 0 : (ends[index - 1] as number);
    place.end = (ends[index] as number) - SHA256.byteLength;
    [row.seq, row.timeMs] = [numbers[at + 1] as number, numbers[at + 2] as number];
    [row.created, row.createdMs] = [numbers[at + 3] as number, numbers[at + 4] as number];
    row.expiresMs = numbers[at + 5] || NEVER;
    return checks.get(numbers[at] as number);
  };
  for (let index = 0; index < count; index++) {
    const check = read(index);
    if (check === undefined) return false;
    const slot = replay.proves(check.agent.agentId, row, place, bytes.subarray(place.end, ends[index]));
    if (slot < 0) return false;
    slots[index] = slot;
  }
  for (let index = 0; index < count; index++) {
    const check = read(index) as EntryCheck;
    check.proved(row);
    if (!replay.meet(slots[index] as number)) check.sum(lifeOf(row, place));
  }
  return true;
}

/** Returns the row in the form for the census. */
function lifeOf(
  { seq, timeMs, created, createdMs, expiresMs }: StoredWrite,
  { text, start, end }: KeyPlace,
): StoredLife {
  return {
    key: text.text(start, end),
    live_to: null,
    live_from: seq,
    written_seq: seq,
    created_seq: created,
    updated_at: timeMs,
    created_at: createdMs,
    expires_at: expiresMs === NEVER ? null : expiresMs,
  };
}
