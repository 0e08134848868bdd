/**
 * Compares the checkpoints of one agent with the events that made them, and with the entries that each of them sees.
 */
import { orNull } from "../../failure.ts";
import { CanonicalJsonError, canonicalJson } from "../../log/jcs.ts";
import type { Reader } from "../../store/transaction.ts";
import type { SqlValue } from "../../store/values.ts";
import { pages } from "../../store/walk.ts";
import { integer, RowForm, type RowOf } from "../columns.ts";
import { type AgentName, allOf, type Finding, type Report } from "../problems.ts";
import { eventColumn, kindOf, type NamedEvent, readNamedEvent } from "./events-named.ts";
import { firstAtOrAfter } from "./expected/positions.ts";
import type { Retention } from "./expected/retention.ts";
import { NEVER } from "./expected/versions.ts";

/** The rows that are read at once. A checkpoint's metadata has at most 64 KiB. */
const ROWS_AT_ONCE = 100;

const CHECKPOINT = new RowForm("c", {
  id: "text",
  as_of_seq: "integer",
  event_seq: "integer",
  config_version: "integer?",
  entry_count: "integer",
  label: "text?",
  metadata: "text",
});
type StoredCheckpoint = RowOf<typeof CHECKPOINT>;

type Position = [asOfSeq: number, rowid: number];
type Row = [asOfSeq: number | null, rowid: number, event: Buffer, ...columns: SqlValue[]];

const SELECT = `SELECT ${integer("c.as_of_seq")}, c.rowid, ${eventColumn("v")}, ${CHECKPOINT.sql}
  FROM checkpoints c LEFT JOIN events v ON v.seq = c.event_seq
  WHERE c.agent = ? AND (c.as_of_seq, c.rowid) > (?, ?) ORDER BY c.as_of_seq, c.rowid LIMIT ${ROWS_AT_ONCE}`;

/** The facts of a checkpoint that are needed for counting. */
interface CountedCheckpoint {
  id: string;
  asOfSeq: number;
  /** The number of entries that it sees according to its event. */
  expected: number;
  /** Entries last written before this moment, ms, were past their retention then; -1 for none. */
  cutoffMs: number;
  /** When it was made. */
  timeMs: number;
}

/** Checks every checkpoint. Returns the number of rows, their ids, and the facts for counting, ordered by position. */
export async function checkCheckpoints(reader: Reader, agent: AgentName, retention: Retention, report: Report) {
  const facts = { rows: 0, ids: new Set<string>(), counted: [] as CountedCheckpoint[] };
  const read = (after: Position) => reader.all<Row>(SELECT, [agent.firstSeq, ...after]);
  const start: Position = [Number.MIN_SAFE_INTEGER, 0];
  const positionOf = ([asOfSeq, rowid]: Row): Position | null => (asOfSeq === null ? null : [asOfSeq, rowid]);
  for await (const page of pages(start, ROWS_AT_ONCE, read, positionOf)) {
    for (const [, , event, ...columns] of page) {
      facts.rows += 1;
      const { row, parts } = CHECKPOINT.read(columns);
      const { id = null, event_seq: seq = null } = parts;
      const place = { table: "checkpoints", key: id, names: [seq ?? -1] };
      if (row === null) {
        report("row_mismatch", seq, "a stored checkpoint has a column that is not of its type", place);
        continue;
      }
      const named = readNamedEvent(event);
      const problem = checkpointProblem(row, named, agent.agentId);
      if (problem !== null) report(problem.code, seq, problem.message, place);
      facts.ids.add(row.id);
      facts.counted.push({
        id: row.id,
        asOfSeq: row.as_of_seq,
        expected: row.entry_count,
        cutoffMs: named === null ? -1 : retention.cutoff(versionOf(row), named.event.seq, named.timeMs),
        timeMs: named?.timeMs ?? -1,
      });
    }
  }
  return facts;
}

function checkpointProblem(
  checkpoint: StoredCheckpoint,
  named: NamedEvent | null,
  agentId: string | null,
): Finding | null {
  const kind = named === null ? "none" : kindOf(named);
  if (named?.event.agent_id !== agentId || (kind !== "add_checkpoint" && kind !== "restore")) {
    return { code: "content_orphan", message: "a stored checkpoint names an event that did not make it" };
  }
  if (named.details === null) {
    const message = "a stored checkpoint cannot be proved: the details of its event are erased";
    return { code: "content_unprovable", message };
  }
  const stated = statedBy(named);
  if (stated !== null && agrees(checkpoint, stated)) return null;
  return { code: "content_mismatch", message: "a stored checkpoint is not what its event says was made" };
}

/** Returns the columns that an event states for its checkpoint; null when its details are erased or malformed. */
function statedBy({ event, effect }: NamedEvent) {
  const { seq, config_version: configVersion } = event;
  if (effect.kind === "restore") {
    // A safety checkpoint has the state before the restore.
    return { ...effect.safety, asOfSeq: seq - 1, label: null, metadata: "{}", configVersion };
  }
  if (effect.kind !== "add_checkpoint" || effect.asOfSeq !== seq) return null;
  const metadata = orNull(CanonicalJsonError, () => canonicalJson(effect.metadata));
  return { ...effect, metadata, configVersion };
}

function agrees(checkpoint: StoredCheckpoint, stated: NonNullable<ReturnType<typeof statedBy>>): boolean {
  return (
    checkpoint.id === stated.id &&
    checkpoint.as_of_seq === stated.asOfSeq &&
    checkpoint.entry_count === stated.entryCount &&
    checkpoint.label === stated.label &&
    checkpoint.metadata === stated.metadata &&
    versionOf(checkpoint) === stated.configVersion
  );
}

const versionOf = ({ config_version: version }: StoredCheckpoint): string | null =>
  version === null ? null : `v${version}`;

/**
 * Counts the entries that each checkpoint of one agent sees, in one pass over the entries. It keeps a few numbers for
 * each checkpoint, and none for entries.
 */
export class Visibility {
  readonly #asOf: Float64Array;
  readonly #counts: Float64Array;
  readonly #withRetention: boolean;

  /** @param checkpoints in ascending order of `asOfSeq` */
  constructor(private readonly checkpoints: readonly CountedCheckpoint[]) {
    this.#asOf = Float64Array.from(checkpoints, ({ asOfSeq }) => asOfSeq);
    this.#counts = new Float64Array(checkpoints.length + 1);
    this.#withRetention = checkpoints.some(({ cutoffMs }) => cutoffMs >= 0);
  }

  /** Counts an entry. Returns whether any checkpoint sees it. */
  add(liveFrom: number, liveTo: number | null, updatedAt: number, expiresMs: number): boolean {
    const first = firstAtOrAfter(this.#asOf, liveFrom);
    const end = liveTo === null ? this.#asOf.length : firstAtOrAfter(this.#asOf, liveTo);
    if (first >= end) return false;
    if (this.#withRetention || expiresMs !== NEVER) {
      for (let index = first; index < end; index++) {
        const { cutoffMs, timeMs } = this.checkpoints[index] as CountedCheckpoint;
        if (updatedAt >= cutoffMs && expiresMs > timeMs) this.#change(index, index + 1);
      }
    } else {
      this.#change(first, end);
    }
    return true;
  }

  /** Compares the counts with the events. @param lastRemoval the newest event that removed entries from checkpoints */
  check(lastRemoval: number, report: Report): void {
    let counted = 0;
    for (const [index, { id, asOfSeq, expected }] of this.checkpoints.entries()) {
      counted += this.#counts[index] as number;
      const differs = (code: "content_mismatch" | "content_missing", than: "more" | "fewer") => {
        const message = `a checkpoint sees ${than} entries than there were when it was made`;
        report(code, asOfSeq, message, allOf("checkpoints", id));
      };
      if (counted > expected) differs("content_mismatch", "more");
      else if (counted < expected && lastRemoval < asOfSeq) differs("content_missing", "fewer");
    }
  }

  /** Adds one to the counts of the checkpoints from `first` to before `end`. The counts are kept as differences. */
  #change(first: number, end: number): void {
    this.#counts[first] = (this.#counts[first] as number) + 1;
    this.#counts[end] = (this.#counts[end] as number) - 1;
  }
}
