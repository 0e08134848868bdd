/** The checkpoints of one agent against the events that made them. */
import { CanonicalJsonError, canonicalJson } from "../../log/jcs.ts";
import { retentionCutoff } from "../../state/configs.ts";
import type { Reader } from "../../store/transaction.ts";
import { goOn } from "../../store/walk.ts";
import { decodeText, integer, isOfWrongType, textBytes } from "../columns.ts";
import { type EventColumns, eventColumns, type NamedEvent, readNamedEvent } from "./events-named.ts";
import { MultisetPrint } from "./expected/multiset.ts";
import type { AgentName, Report } from "./findings.ts";
import type { CountedCheckpoint } from "./visibility.ts";

/** A checkpoint's metadata has at most 64 KiB. */
const ROWS_AT_ONCE = 100;

type Row = [
  rowid: number,
  wrongTypes: number,
  id: Buffer | null,
  asOfSeq: number | null,
  eventSeq: number | null,
  configVersion: number | null,
  entryCount: number | null,
  label: Buffer | null,
  metadata: Buffer | null,
  ...event: EventColumns,
];

const INTEGERS = ["as_of_seq", "event_seq", "config_version", "entry_count"].map((name) =>
  integer(`c.${name}`),
);
const SELECT = `SELECT c.rowid, ${isOfWrongType("c.config_version", "integer")} OR ${isOfWrongType("c.label", "text")},
    ${textBytes("c.id")}, ${INTEGERS.join(", ")}, ${textBytes("c.label")}, ${textBytes("c.metadata")}, ${eventColumns("v")}
  FROM checkpoints c LEFT JOIN events v ON v.seq = c.event_seq
  WHERE c.agent = ? AND (c.as_of_seq, c.rowid) > (?, ?) ORDER BY c.as_of_seq, c.rowid LIMIT ${ROWS_AT_ONCE}`;

interface StoredCheckpoint {
  id: string;
  asOfSeq: number;
  eventSeq: number;
  configVersion: number | null;
  entryCount: number;
  label: string | null;
  metadata: string;
}

/** What the other checks need to know of an agent's checkpoints. */
export interface CheckpointFacts {
  rows: number;
  ids: MultisetPrint;
  /** In the order of their positions. */
  counted: CountedCheckpoint[];
}

/** Checks every checkpoint. `retention`: days of retention by config version, of those that have it. */
export async function checkCheckpoints(
  reader: Reader,
  agent: AgentName,
  retention: ReadonlyMap<number, number>,
  report: Report,
): Promise<CheckpointFacts> {
  const facts: CheckpointFacts = { rows: 0, ids: new MultisetPrint(), counted: [] };
  for (let after: [number, number] = [Number.MIN_SAFE_INTEGER, 0]; ; ) {
    const page: Row[] = await reader.all<Row>(SELECT, [agent.firstSeq, ...after]);
    for (const row of page) {
      facts.rows += 1;
      const checkpoint = toCheckpoint(row);
      if (checkpoint === null) {
        report("row_mismatch", row[4], "a stored checkpoint has a column that is not of its type");
        continue;
      }
      const named = readNamedEvent(row[9], row[10]);
      const problem = checkpointProblem(checkpoint, named, agent.agentId);
      if (problem !== null) report(problem.code, checkpoint.eventSeq, problem.message);
      facts.ids.add(checkpoint.id, 1);
      facts.counted.push({
        asOfSeq: checkpoint.asOfSeq,
        expected: checkpoint.entryCount,
        cutoffMs: cutoffOf(checkpoint, named, retention),
      });
    }
    const last = page.at(-1);
    if (page.length < ROWS_AT_ONCE || last === undefined || last[3] === null) return facts;
    after = goOn(after, [last[3], last[0]]);
  }
}

function toCheckpoint(row: Row): StoredCheckpoint | null {
  const [, wrongTypes, idBytes, asOfSeq, eventSeq, configVersion, entryCount, labelBytes, metadataBytes] =
    row;
  const id = decodeText(idBytes);
  const label = decodeText(labelBytes);
  const metadata = decodeText(metadataBytes);
  if (wrongTypes !== 0 || id === null || metadata === null) return null;
  if (asOfSeq === null || eventSeq === null || entryCount === null) return null;
  if (label === null && labelBytes !== null) return null;
  return { id, asOfSeq, eventSeq, configVersion, entryCount, label, metadata };
}

type CheckpointProblem = {
  code: "content_orphan" | "content_mismatch" | "content_unprovable";
  message: string;
};

function checkpointProblem(
  checkpoint: StoredCheckpoint,
  named: NamedEvent | null,
  agentId: string | null,
): CheckpointProblem | null {
  const isCreate = named?.event.operation === "checkpoint.create";
  const isRestore = named?.event.operation === "checkpoint.restore";
  if (
    named === null ||
    named.event.agent_id !== agentId ||
    named.event.result !== "ok" ||
    !(isCreate || isRestore)
  ) {
    return { code: "content_orphan", message: "a stored checkpoint names an event that did not make it" };
  }
  if (named.details === null) {
    const message = "a stored checkpoint cannot be proved: the details of its event are erased";
    return { code: "content_unprovable", message };
  }
  if (agrees(checkpoint, isCreate ? created(named) : safety(named))) return null;
  return { code: "content_mismatch", message: "a stored checkpoint is not what its event says was made" };
}

/** What an event says of the checkpoint that it made. */
type Stated = Record<Exclude<keyof StoredCheckpoint, "eventSeq" | "configVersion">, unknown> & {
  configVersion: string | null;
};

function created({ event, details }: NamedEvent): Stated {
  const { checkpoint_id: id, as_of_seq, entry_count: entryCount, label, metadata } = details ?? {};
  const asOfSeq = as_of_seq === event.seq ? event.seq : null;
  return {
    id,
    asOfSeq,
    entryCount,
    label,
    metadata: canonical(metadata),
    configVersion: event.config_version,
  };
}

/** A restore makes a checkpoint of the state before it, and tells little of it. */
function safety({ event, details }: NamedEvent): Stated {
  const { safety_checkpoint_id: id, safety_entry_count: entryCount } = details ?? {};
  return {
    id,
    asOfSeq: event.seq - 1,
    entryCount,
    label: null,
    metadata: "{}",
    configVersion: event.config_version,
  };
}

function agrees(checkpoint: StoredCheckpoint, stated: Stated): boolean {
  const version = checkpoint.configVersion === null ? null : `v${checkpoint.configVersion}`;
  return (
    checkpoint.id === stated.id &&
    checkpoint.asOfSeq === stated.asOfSeq &&
    checkpoint.entryCount === stated.entryCount &&
    checkpoint.label === stated.label &&
    checkpoint.metadata === stated.metadata &&
    version === stated.configVersion
  );
}

function canonical(value: Parameters<typeof canonicalJson>[0] | undefined): string | null {
  try {
    return value === undefined ? null : canonicalJson(value);
  } catch (error) {
    if (error instanceof CanonicalJsonError) return null;
    throw error;
  }
}

/** Entries written before this moment were expired when the checkpoint was made. */
function cutoffOf(
  { configVersion }: StoredCheckpoint,
  named: NamedEvent | null,
  retention: ReadonlyMap<number, number>,
): number {
  const days = configVersion === null ? undefined : retention.get(configVersion);
  if (days === undefined || named === null) return -1;
  return retentionCutoff({ blockPii: false, blockSecrets: false, retentionDays: days }, named.timeMs);
}
