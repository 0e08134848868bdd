/** The checkpoints of one agent against the events that made them. */
import type { JsonObject } from "../../json.ts";
import { CanonicalJsonError, canonicalJson } from "../../log/jcs.ts";
import type { Reader } from "../../store/transaction.ts";
import { goOn } from "../../store/walk.ts";
import { decodeText, integer, isOfWrongType, textBytes } from "../columns.ts";
import { type EventColumns, eventColumns, kindOf, type NamedEvent, readNamedEvent } from "./events-named.ts";
import { cutoffAt, type Retention } from "./expected/history.ts";
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

const INTEGERS = ["as_of_seq", "event_seq", "config_version", "entry_count"].map((name) => integer(`c.${name}`));
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
  ids: Set<string>;
  /** In the order of their positions. */
  counted: CountedCheckpoint[];
}

/** Checks every checkpoint. */
export async function checkCheckpoints(
  reader: Reader,
  agent: AgentName,
  retention: Retention,
  report: Report,
): Promise<CheckpointFacts> {
  const facts: CheckpointFacts = { rows: 0, ids: new Set(), counted: [] };
  for (let after: [number, number] = [Number.MIN_SAFE_INTEGER, 0]; ; ) {
    const page: Row[] = await reader.all<Row>(SELECT, [agent.firstSeq, ...after]);
    for (const row of page) {
      facts.rows += 1;
      const checkpoint = toCheckpoint(row);
      if (checkpoint === null) {
        report("row_mismatch", row[4], "a stored checkpoint has a column that is not of its type", {
          table: "checkpoints",
          key: decodeText(row[2]),
          names: [row[4] ?? -1],
        });
        continue;
      }
      const named = readNamedEvent(row[9], row[10]);
      const problem = checkpointProblem(checkpoint, named, agent.agentId);
      if (problem !== null) {
        const { id, eventSeq } = checkpoint;
        report(problem.code, eventSeq, problem.message, { table: "checkpoints", key: id, names: [eventSeq] });
      }
      facts.ids.add(checkpoint.id);
      facts.counted.push({
        id: checkpoint.id,
        asOfSeq: checkpoint.asOfSeq,
        expected: checkpoint.entryCount,
        cutoffMs: named === null ? -1 : cutoffAt(retention, versionOf(checkpoint), named.timeMs),
      });
    }
    const last = page.at(-1);
    if (page.length < ROWS_AT_ONCE || last === undefined || last[3] === null) return facts;
    after = goOn(after, [last[3], last[0]]);
  }
}

function toCheckpoint(row: Row): StoredCheckpoint | null {
  const [, wrongTypes, idBytes, asOfSeq, eventSeq, configVersion, entryCount, labelBytes, metadataBytes] = row;
  const id = decodeText(idBytes);
  const label = decodeText(labelBytes);
  const metadata = decodeText(metadataBytes);
  if (wrongTypes !== 0 || id === null || metadata === null) return null;
  if (asOfSeq === null || eventSeq === null || entryCount === null) return null;
  if (label === null && labelBytes !== null) return null;
  return { id, asOfSeq, eventSeq, configVersion, entryCount, label, metadata };
}

type CheckpointProblem = { code: "content_orphan" | "content_mismatch" | "content_unprovable"; message: string };

function checkpointProblem(
  checkpoint: StoredCheckpoint,
  named: NamedEvent | null,
  agentId: string | null,
): CheckpointProblem | null {
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

/** The columns that an event gives the checkpoint that it makes; null when its details do not tell. */
type Stated = Omit<StoredCheckpoint, "eventSeq" | "configVersion" | "metadata"> & {
  configVersion: string | null;
  metadata: string | null;
};

function statedBy({ event, effect }: NamedEvent): Stated | null {
  const { seq, config_version: configVersion } = event;
  if (effect.kind === "restore") {
    // A safety checkpoint holds the state before the restore.
    return { ...effect.safety, asOfSeq: seq - 1, label: null, metadata: "{}", configVersion };
  }
  if (effect.kind !== "add_checkpoint" || effect.asOfSeq !== seq) return null;
  const { id, asOfSeq, entryCount, label, metadata } = effect;
  return { id, asOfSeq, entryCount, label, metadata: canonical(metadata), configVersion };
}

function agrees(checkpoint: StoredCheckpoint, stated: Stated): boolean {
  return (
    checkpoint.id === stated.id &&
    checkpoint.asOfSeq === stated.asOfSeq &&
    checkpoint.entryCount === stated.entryCount &&
    checkpoint.label === stated.label &&
    checkpoint.metadata === stated.metadata &&
    versionOf(checkpoint) === stated.configVersion
  );
}

const versionOf = ({ configVersion }: StoredCheckpoint): string | null =>
  configVersion === null ? null : `v${configVersion}`;

/** Null for a value without a canonical form. */
function canonical(value: JsonObject): string | null {
  try {
    return canonicalJson(value);
  } catch (error) {
    if (error instanceof CanonicalJsonError) return null;
    throw error;
  }
}
