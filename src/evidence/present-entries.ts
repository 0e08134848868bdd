/** The present entries of one agent against what the log left of each key. */
import { SHA256 } from "bun";
import { Bytes } from "../log/fast/bytes.ts";
import type { Reader } from "../store/transaction.ts";
import type { Census } from "./census.ts";
import type { StoredLife } from "./entry.ts";
import type { EntryChunk } from "./entry-chunks.ts";
import { type EntryOfFile, presentPage } from "./entry-pages.ts";
import {
  ENTRY_NUMBERS,
  type EntryPlace,
  type EntryRange,
  type PackedEntries,
  ROWS_AT_ONCE,
  readEntryPart,
} from "./entry-part.ts";
import type { AgentName, Report } from "./findings.ts";
import type { KeyPlace, StoredWrite } from "./write-key.ts";

/** Rows that go the thorough way together when all have to; when one has to, they are those of its page. */
const MANY_ROWS = 500;

/** Who is told of present entries. */
export interface PresentSink {
  agent: AgentName;
  census: Census;
  report: Report;
  /** Of an entry that is as the log left it. */
  proved(liveFrom: number, updatedAt: number): void;
  /** Of others, which are to be looked at. */
  other(page: readonly EntryOfFile[]): void;
}

/** Takes a chunk of them. */
export async function takeChunk(
  reader: Reader,
  { range, entries }: EntryChunk,
  sink: PresentSink,
): Promise<void> {
  if (entries === null || !takeProved(entries, sink)) await takeInTurn(reader, range, sink);
}

async function takeInTurn(reader: Reader, range: EntryRange, sink: PresentSink): Promise<void> {
  for (let after: EntryPlace | null = range.after; after !== null; ) {
    const rest: EntryRange = { ...range, after };
    const { overflowed } = sink.census.replay;
    const part = overflowed ? null : await readEntryPart(reader, rest, ROWS_AT_ONCE);
    if (part !== null && takeProved(part.entries, sink)) {
      after = part.entries.count < ROWS_AT_ONCE ? null : part.last;
      continue;
    }
    const page = await presentPage(reader, rest, overflowed ? MANY_ROWS : ROWS_AT_ONCE);
    sink.other(page.entries);
    after = page.last;
  }
}

/** Takes entries if the log proves all of each; otherwise none of them, and false. */
function takeProved({ count, numbers, ends, bytes }: PackedEntries, sink: PresentSink): boolean {
  const { agent, census, report, proved } = sink;
  const { replay } = census;
  const text = new Bytes(bytes);
  const slots = new Int32Array(count);
  const place = { text, start: 0, end: 0 };
  const row = { seq: 0, timeMs: 0, created: 0, createdMs: 0 };
  const read = (index: number): void => {
    const at = ENTRY_NUMBERS * index;
    place.start = index === 0 ? 0 : (ends[index - 1] as number);
    place.end = (ends[index] as number) - SHA256.byteLength;
    [row.seq, row.timeMs] = [numbers[at] as number, numbers[at + 1] as number];
    [row.created, row.createdMs] = [numbers[at + 2] as number, numbers[at + 3] as number];
  };
  for (let index = 0; index < count; index++) {
    read(index);
    const slot = replay.proves(agent.agentId, row, place, bytes.subarray(place.end, ends[index]));
    if (slot < 0) return false;
    slots[index] = slot;
  }
  for (let index = 0; index < count; index++) {
    read(index);
    proved(row.seq, row.timeMs);
    if (!replay.meet(slots[index] as number)) census.add(agent, lifeOf(row, place), report);
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
