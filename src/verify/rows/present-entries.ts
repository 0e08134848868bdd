/** The present entries against what the log left of each key. */
import { SHA256 } from "bun";
import { Bytes } from "../../log/bytes.ts";
import type { Reader } from "../../store/transaction.ts";
import { goOn } from "../../store/walk.ts";
import type { EntryCheck } from "./entries.ts";
import type { StoredLife } from "./entry.ts";
import type { EntryChunks } from "./entry-chunks.ts";
import { type EntryOfFile, presentPage } from "./entry-pages.ts";
import {
  ENTRY_NUMBERS,
  type EntryRange,
  type PackedEntries,
  ROWS_AT_ONCE,
  readEntryPart,
} from "./entry-part.ts";
import type { Replay } from "./expected/replay.ts";
import type { KeyPlace, StoredWrite } from "./expected/write-key.ts";

/** Rows that go the thorough way together when all have to; when one has to, they are those of its page. */
const MANY_ROWS = 500;

/** Who is told of present entries. */
export interface PresentSink {
  replay: Replay;
  /** By `agents.first_seq`; rows of others belong to nobody, and are left for who counts all rows. */
  checks: ReadonlyMap<number, EntryCheck>;
}

/** Takes all of them. */
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

const checkOf = ({ agent }: EntryOfFile, { checks }: PresentSink) =>
  agent === null ? undefined : checks.get(agent);

/** Takes entries if the log proves all of each; otherwise none of them, and false. */
function takeProved(
  { count, numbers, ends, bytes }: PackedEntries,
  { replay, checks }: PresentSink,
): boolean {
  const text = new Bytes(bytes);
  const slots = new Int32Array(count);
  const place = { text, start: 0, end: 0 };
  const row = { seq: 0, timeMs: 0, created: 0, createdMs: 0 };
  /** Reads a row; answers whose it is. */
  const read = (index: number): EntryCheck | undefined => {
    const at = ENTRY_NUMBERS * index;
    place.start = index === 0 ? 0 : (ends[index - 1] as number);
    place.end = (ends[index] as number) - SHA256.byteLength;
    [row.seq, row.timeMs] = [numbers[at + 1] as number, numbers[at + 2] as number];
    [row.created, row.createdMs] = [numbers[at + 3] as number, numbers[at + 4] as number];
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
    check.proved(row.seq, row.timeMs);
    if (!replay.meet(slots[index] as number)) check.sum(lifeOf(row, place));
  }
  return true;
}

/** The row, as the census takes it. */
function lifeOf(
  { seq, timeMs, created, createdMs }: StoredWrite,
  { text, start, end }: KeyPlace,
): StoredLife {
  return {
    ...{ key: text.text(start, end), liveTo: null, liveFrom: seq },
    ...{ writtenSeq: seq, createdSeq: created, updatedAt: timeMs, createdAt: createdMs },
  };
}
