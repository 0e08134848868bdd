/** A workspace's log, verified by threads a part each, and put together in the order of the log. */

import { Bytes } from "../log/bytes.ts";
import { parseEvent } from "../log/event.ts";
import { TILE_WIDTH } from "../log/tiles.ts";
import type { Reader } from "../store/transaction.ts";
import { goOn } from "../store/walk.ts";
import type { DatabaseThreads } from "./database-threads.ts";
import type { LogPart, LogRange } from "./log-part.ts";
import type { Prepared } from "./preparation.ts";
import type { EntryChunks } from "./rows/entry-chunks.ts";
import { ALL_ENTRIES, type EntryRange } from "./rows/entry-part.ts";
import { followWrites } from "./rows/expected/writes.ts";
import type { SealFeed } from "./rows/stored-seals.ts";

/** Events of a part, at most: what is found of so many waits in memory. */
const MAX_EVENTS = 128 * TILE_WIDTH;
/** At least: each thread meets every agent anew in each part. */
const MIN_EVENTS = 16 * TILE_WIDTH;
/** Parts of a thread, if they have neither more nor fewer events than that. */
const PARTS_OF_THREAD = 8;
/** Writes that are followed before other work gets its turn. */
const WRITES_AT_ONCE = 2_048;

/** What the parts are put together in. */
export interface LogWhole extends Prepared {
  seals: SealFeed;
  /** Sizes of seals that were kept elsewhere. */
  anchored: readonly number[];
}

/** How many events a part has, when so many threads verify a log of so many. */
export function eventsOfPart(total: number, threads: number): number {
  const events = Math.ceil(total / (threads * PARTS_OF_THREAD) / TILE_WIDTH) * TILE_WIDTH;
  return Math.min(MAX_EVENTS, Math.max(MIN_EVENTS, events));
}

/** Takes the log up to event `lastSeq`; false when not all is well with it. */
export async function feedInParts(
  { threads, events }: { threads: DatabaseThreads; events: number },
  whole: LogWhole,
  lastSeq: number,
  onProgress: () => void | Promise<void>,
): Promise<boolean> {
  if (await hasOthers(whole.reader, lastSeq)) return false;
  const jobs = rangesOf(whole, lastSeq, events);
  for await (const found of threads.verify(jobs)) {
    if (found?.kind !== "log") return false;
    await takePart(whole, found.part, onProgress);
  }
  return true;
}

/** Whether there are events that no part has. */
async function hasOthers(reader: Reader, lastSeq: number): Promise<boolean> {
  const sql =
    "SELECT EXISTS (SELECT 1 FROM events WHERE seq < 0) OR EXISTS (SELECT 1 FROM events WHERE seq > ?)";
  return (await reader.get<[number]>(sql, [lastSeq]))?.[0] !== 0;
}

async function* rangesOf(whole: LogWhole, lastSeq: number, events: number) {
  for (let firstSeq = 0; firstSeq <= lastSeq; firstSeq += events) {
    const last = Math.min(firstSeq + events - 1, lastSeq);
    const sizes = await whole.seals.upTo(last + 1);
    const within = [...sizes, ...whole.anchored].filter((size) => size > firstSeq && size <= last + 1);
    const marks = [...new Set(within)].sort((a, b) => a - b);
    const range: LogRange = { firstSeq, lastSeq: last, marks };
    yield { kind: "log", range } as const;
  }
}

async function takePart(
  whole: LogWhole,
  part: LogPart,
  onProgress: () => void | Promise<void>,
): Promise<void> {
  const { verifier, tiles, census, take } = whole;
  const { segment, roots, writes, events } = part;
  const text = new Bytes(writes.bytes);
  const firstTile = segment.start / TILE_WIDTH;
  for (const [index, root] of roots.entries()) await tiles.addCompared(firstTile + index, root);
  verifier.append(segment);
  let done = 0;
  const followTo = async (end: number) => {
    while (done < end) {
      const next = Math.min(done + WRITES_AT_ONCE, end);
      followWrites(census.replay, writes, text, done, next);
      done = next;
      if (next < end) await onProgress();
    }
  };
  for (const { after, event, details } of events) {
    await followTo(after);
    take(parseEvent(event), details);
  }
  await followTo(writes.count);
  await onProgress();
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
