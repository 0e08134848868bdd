/** Reads the stored events of a file, and feeds them to a verifier. */
import { readEvents } from "../../core/rows/log/events.ts";
import type { FileEvent } from "../../core/rows/log/stored-events.ts";
import type { Reader } from "../../store/transaction.ts";
import type { SqlValue } from "../../store/values.ts";
import { pages } from "../../store/walk.ts";
import type { LogVerifier } from "./log-verifier.ts";

/** The events that are read at once. */
const EVENTS_AT_ONCE = 32;

/** Callbacks for each page. */
interface FeedSteps {
  /** Called before the events up to number `lastSeq` are fed. */
  before?(lastSeq: number): Promise<void>;
  /** Called after they were fed. */
  after?(): void | Promise<void>;
}

/** Feeds the events from `firstSeq` to `lastSeq`. Any of them may be missing. */
export async function feedLog(
  reader: Reader,
  verifier: LogVerifier,
  { firstSeq, lastSeq }: { firstSeq: number; lastSeq: number },
  steps: FeedSteps,
): Promise<void> {
  for await (const rows of pagesOfLog(reader, lastSeq, firstSeq)) {
    await steps.before?.(rows.at(-1)?.seq ?? firstSeq);
    addRows(verifier, rows);
    await steps.after?.();
  }
}

/** Feeds a page of rows. */
export function addRows(verifier: LogVerifier, rows: FileEvent[]): void {
  verifier.add(rows);
  for (const { typed, seq } of rows) {
    if (!typed) verifier.report("row_mismatch", null, seq, "an event has a column that is not of its type");
  }
}

/** SQLite's result code for a value that is too long. */
const SQLITE_TOOBIG = 18;

/** Yields all events from position `firstSeq` to position `lastSeq`, in the order of the rows' numbers. */
export async function* pagesOfLog(reader: Reader, lastSeq: number, firstSeq = Number.MIN_SAFE_INTEGER + 1) {
  const rest = "FROM events WHERE seq > ? AND seq <= ? ORDER BY seq";
  const read = (after: number) => readPage(reader, rest, [after, lastSeq]);
  yield* pages(firstSeq - 1, 1, read, ({ seq }) => seq);
}

/** Yields all events of one agent's chain up to position `lastSeq`, in the order of the chain. */
export async function* pagesOfChain(
  reader: Reader,
  agentId: string | null,
  lastSeq: number,
  firstSeq = Number.MIN_SAFE_INTEGER,
): AsyncGenerator<FileEvent[]> {
  // A file that was tampered with may have a chain number twice, so the row's number is the second key.
  const rest = `FROM events
    WHERE agent_id IS ? AND (agent_seq, seq) > (?, ?) AND seq <= ? AND seq >= ? ORDER BY agent_seq, seq`;
  const read = (after: [number, number]) => readPage(reader, rest, [agentId, ...after, lastSeq, firstSeq], "agent_seq");
  const start: [number, number] = [0, -1];
  yield* pages(start, 1, read, ({ place, seq }): [number, number] => [place, seq]);
}

/** Reads the next events of a query, fewer when the whole page is too long for one value. */
async function readPage(
  reader: Reader,
  rest: string,
  bound: readonly SqlValue[],
  place?: string,
): Promise<FileEvent[]> {
  for (const limit of [EVENTS_AT_ONCE, 1]) {
    try {
      return await readEvents(reader, `${rest} LIMIT ?`, [...bound, limit], place);
    } catch (error) {
      if (limit === 1 || (error as { rawCode?: number }).rawCode !== SQLITE_TOOBIG) throw error;
    }
  }
  return [];
}
