/**
 * Compares two states of an agent's data: those of two checkpoints, or of one and the present. Only versions that are
 * in just one of the states are kept in memory, by key; contents are read for one page.
 */
import type { Freshness } from "../../../screen/retention.ts";
import type { Reader } from "../../../store/transaction.ts";
import { pagesByTwo } from "../../../store/walk.ts";
import { ENTRY_COLUMNS, type EntryRow, type EntryTuple, toEntryRow } from "../entries.ts";
import { FRESH, freshBounds } from "../expiry.ts";

/** How a key in the second state differs from the first. */
type Change = "added" | "changed" | "removed";

export interface StateChange {
  key: string;
  change: Change;
  /** The ids of the versions; null when the key has none. */
  from: number | null;
  to: number | null;
}

export interface Comparison {
  /** The changes in the order of the keys' UTF-8 bytes. */
  changes: StateChange[];
  added: number;
  changed: number;
  removed: number;
  unchanged: number;
}

/** The most rows that are read at once, entries that are examined for them, and contents that are compared at once. */
const ROWS_AT_ONCE = 500;
const LOOKED_AT_ONCE = 2_000;
const CONTENTS_AT_ONCE = 50;

type Version = [id: number, key: string, writtenSeq: number];
type Ended = [...Version, liveFrom: number, liveTo: number];
type Versions = Map<string, Version>;

/** Two positions of the log, the earlier one first. The later one is null for the present. */
interface Positions {
  agent: number;
  earlier: number;
  later: number | null;
  fresh: Freshness;
}

/** The versions that are in only one of two states, and the number of entries in both. */
interface Apart {
  earlier: Versions;
  later: Versions;
  both: number;
}

/**
 * Compares the states of an agent at two positions, null for the present. Entries that have expired by now are in
 * neither.
 * @param pause gives other work a turn
 */
export async function compareStates(
  reader: Reader,
  agent: number,
  [from, to]: readonly [from: number, to: number | null],
  fresh: Freshness,
  pause: () => Promise<void>,
): Promise<Comparison> {
  const isForward = to === null || from <= to;
  const positions = isForward ? { agent, earlier: from, later: to, fresh } : { agent, earlier: to, later: from, fresh };
  const apart: Apart = { earlier: new Map(), later: new Map(), both: 0 };
  await addEnded(reader, positions, apart, pause);
  await addPresent(reader, positions, apart, pause);
  const same = await sameContents(reader, apart, pause);
  const [old, now] = isForward ? [apart.earlier, apart.later] : [apart.later, apart.earlier];
  const keys = [...new Set([...old.keys(), ...now.keys()])].filter((key) => !same.has(key)).sort(byBytes);
  const changes = keys.map((key): StateChange => {
    const [before, after] = [old.get(key)?.[0] ?? null, now.get(key)?.[0] ?? null];
    return { key, change: before === null ? "added" : after === null ? "removed" : "changed", from: before, to: after };
  });
  const count = (wanted: Change) => changes.filter(({ change }) => change === wanted).length;
  return {
    changes,
    added: count("added"),
    changed: count("changed"),
    removed: count("removed"),
    unchanged: apart.both + same.size,
  };
}

const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

/** Adds the versions that have ended since the earlier position. */
async function addEnded(
  reader: Reader,
  { agent, earlier, later, fresh }: Positions,
  apart: Apart,
  pause: () => Promise<void>,
): Promise<void> {
  const end = later ?? Number.MAX_SAFE_INTEGER;
  const read = (sql: string, parameters: number[], limit: number) =>
    reader.all<Ended>(
      `SELECT id, key, written_seq, live_from, live_to FROM entries
       WHERE agent = ? AND live_to ${sql} AND live_from <= ? AND ${FRESH} ORDER BY live_to, id LIMIT ?`,
      [agent, ...parameters, end, ...freshBounds(fresh), limit],
    );
  for await (const rows of pagesByTwo(earlier, ROWS_AT_ONCE, read, ([id, , , , liveTo]) => [liveTo, id])) {
    for (const [id, key, writtenSeq, liveFrom, liveTo] of rows) {
      const [wasThen, isLater] = [liveFrom <= earlier, later !== null && liveTo > later];
      if (wasThen && isLater) apart.both += 1;
      else if (wasThen) apart.earlier.set(key, [id, key, writtenSeq]);
      else if (isLater) apart.later.set(key, [id, key, writtenSeq]);
    }
    await pause();
  }
}

/** Adds the present versions that the later position sees. */
async function addPresent(
  reader: Reader,
  { agent, earlier, later, fresh }: Positions,
  apart: Apart,
  pause: () => Promise<void>,
): Promise<void> {
  const LIVE = "FROM entries WHERE agent = ? AND live_to IS NULL AND key > ?";
  for (let after: string | undefined = ""; after !== undefined; ) {
    const sql = `SELECT key ${LIVE} ORDER BY key LIMIT 1 OFFSET ?`;
    const last: string | undefined = await reader.value<string>(sql, [agent, after, LOOKED_AT_ONCE]);
    const range = [agent, after, ...(last === undefined ? [] : [last]), ...freshBounds(fresh)];
    const among = `${LIVE} ${last === undefined ? "" : "AND key <= ?"} AND ${FRESH}`;
    const added = await reader.all<Version>(
      `SELECT id, key, written_seq ${among} AND live_from > ? AND live_from <= ?`,
      [...range, earlier, later ?? Number.MAX_SAFE_INTEGER],
    );
    for (const version of added) apart.later.set(version[1], version);
    apart.both += (await reader.value<number>(`SELECT count(*) ${among} AND live_from <= ?`, [...range, earlier])) ?? 0;
    after = last;
    await pause();
  }
}

/** Returns the keys whose two versions have the same content: the same event wrote both, or the texts are equal. */
async function sameContents(reader: Reader, apart: Apart, pause: () => Promise<void>): Promise<Set<string>> {
  const same = new Set<string>();
  const pairs: [string, number, number][] = [];
  for (const [key, [id, , writtenSeq]] of apart.earlier) {
    const other = apart.later.get(key);
    if (other?.[2] === writtenSeq) same.add(key);
    else if (other !== undefined) pairs.push([key, id, other[0]]);
  }
  for (let at = 0; at < pairs.length; at += CONTENTS_AT_ONCE) {
    // Lengths are compared first, since SQLite knows them without reading the values.
    const equal = await reader.all<[string]>(
      `SELECT p.value ->> 0 FROM json_each(?) p
       JOIN entries a ON a.id = p.value ->> 1 JOIN entries b ON b.id = p.value ->> 2
       WHERE octet_length(a.value) = octet_length(b.value) AND a.value = b.value AND a.metadata = b.metadata`,
      [JSON.stringify(pairs.slice(at, at + CONTENTS_AT_ONCE))],
    );
    for (const [key] of equal) same.add(key);
    await pause();
  }
  return same;
}

/** Returns a version that a comparison has found in the same transaction. */
export async function readCompared(reader: Reader, id: number): Promise<EntryRow & { writtenSeq: number }> {
  const sql = `SELECT ${ENTRY_COLUMNS}, written_seq FROM entries WHERE id = ?`;
  const row = await reader.get<[...EntryTuple, writtenSeq: number]>(sql, [id]);
  if (row === undefined) throw new Error("a version vanished inside its own transaction");
  const [writtenSeq] = row.splice(-1) as [number];
  return { ...toEntryRow(row as unknown as EntryTuple), writtenSeq };
}
