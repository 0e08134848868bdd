/** Loads the facts about every agent that are needed before the log is read; see {@link StoredFacts}. */
import { sqlNames } from "../../../core/rows/entry-changes.ts";
import { historyFrom } from "../../../core/rows/sweeps.ts";
import { HISTORY } from "../../../screen/history.ts";
import { RETENTION } from "../../../screen/retention.ts";
import { decodeText } from "../../../store/packed.ts";
import type { Reader, Row } from "../../../store/transaction.ts";
import { pages } from "../../../store/walk.ts";
import { integer, textBytes } from "../../columns.ts";
import { eventColumn, readNamedEvent } from "../events-named.ts";
import { loadErasedWrites } from "./erased-writes.ts";
import { cutoffOf, Histories, NOTHING_STORED, type StoredFacts } from "./history.ts";
import { loadQuarantines } from "./quarantines.ts";
import { type KeepingPolicies, keepingOf, type PoliciesVersion, Retention } from "./retention.ts";

const ROWS_AT_ONCE = 2_000;

/** One agent, or all of them. */
type Wanted = { agentId: string } | { scope: "workspace" };

/** Returns the histories of all agents, before any event. @param prunedBefore @param start see {@link Histories} */
export async function loadHistories(reader: Reader, wanted: Wanted, prunedBefore: number, start = -1) {
  const checkpoints = await loadCheckpoints(reader, wanted);
  const configs = await loadConfigs(reader, wanted);
  const workspacePolicies = await loadWorkspacePolicies(reader);
  const retention = new Map(
    Array.from(configs, ([agentId, versions]) => [agentId, new Retention(versions, workspacePolicies)]),
  );
  const quarantines = await loadQuarantines(reader);
  const others = { ...NOTHING_STORED, retention: new Retention(new Map(), workspacePolicies), quarantines };
  const retentionFor = (agentId: string | null) => retention.get(agentId) ?? others.retention;
  const swept = configs.size === 0 && others.retention.isNone ? new Map() : await loadSweeps(reader, retentionFor);
  const histories = await loadBeginnings(reader, wanted);
  const facts = new Map<string | null, StoredFacts>();
  const agents = [checkpoints, retention, swept, histories].flatMap((known) => [...known.keys()]);
  for (const agentId of new Set(agents)) {
    facts.set(agentId, {
      checkpoints: Float64Array.from(checkpoints.get(agentId) ?? []).sort(),
      retention: retentionFor(agentId),
      sweptBeforeMs: swept.get(agentId) ?? -1,
      historyFrom: histories.get(agentId) ?? 0,
      quarantines,
    });
  }
  return new Histories(facts, others, prunedBefore, start, await loadErasedWrites(reader));
}

async function loadCheckpoints(reader: Reader, wanted: Wanted): Promise<Map<string | null, number[]>> {
  const positions = new Map<string | null, number[]>();
  const sql = `SELECT c.rowid, ${textBytes("a.agent_id")}, ${integer("c.as_of_seq")} FROM checkpoints ${OF_AGENTS}`;
  type Checkpoint = [rowid: number, agentId: Buffer | null, asOfSeq: number | null];
  for await (const [, agentId, asOfSeq] of rowsOf<Checkpoint>(reader, sql, wanted)) {
    if (asOfSeq !== null) positions.getOrInsertComputed(decodeText(agentId), () => []).push(asOfSeq);
  }
  return positions;
}

/** Returns the policies of the configs that say how long versions are kept, by agent and version. */
async function loadConfigs(reader: Reader, wanted: Wanted): Promise<Map<string | null, Map<string, KeepingPolicies>>> {
  const configs = new Map<string | null, Map<string, KeepingPolicies>>();
  const columns = [textBytes("a.agent_id"), integer("c.version"), textBytes("c.config")].join(", ");
  const named = `(instr(c.config, '${RETENTION}') > 0 OR instr(c.config, '${HISTORY}') > 0)`;
  const sql = `SELECT c.rowid, ${columns} FROM configs ${OF_AGENTS} AND ${named}`;
  type Config = [rowid: number, agentId: Buffer | null, version: number | null, config: Buffer | null];
  for await (const [, agentId, version, config] of rowsOf<Config>(
    reader,
    `${sql} AND a.agent_id IS NOT NULL`,
    wanted,
  )) {
    const policies = keepingOf(decodeText(config));
    if (policies === null || version === null) continue;
    configs.getOrInsertComputed(decodeText(agentId), () => new Map()).set(`v${version}`, policies);
  }
  return configs;
}

/** Returns the position with which the history of each agent begins, of those that had a sweep. */
async function loadBeginnings(reader: Reader, wanted: Wanted): Promise<Map<string | null, number>> {
  const beginnings = new Map<string | null, number>();
  const sql = `SELECT c.rowid, ${textBytes("c.agent_id")}, CAST((${historyFrom("c.agent_id")}) AS INTEGER)
    FROM agents c JOIN agents a ON a.first_seq = c.first_seq WHERE c.rowid > ?`;
  type Beginning = [rowid: number, agentId: Buffer | null, from: number | null];
  for await (const [, agentId, from] of rowsOf<Beginning>(reader, sql, wanted)) {
    if (from !== null) beginnings.set(decodeText(agentId), from);
  }
  return beginnings;
}

/** Returns the versions of the workspace's policies. */
async function loadWorkspacePolicies(reader: Reader): Promise<PoliciesVersion[]> {
  const sql = `SELECT c.rowid, ${integer("c.created_seq")}, ${textBytes("c.config")} FROM configs ${OF_AGENTS}`;
  type Version = [rowid: number, madeAt: number | null, config: Buffer | null];
  const versions: PoliciesVersion[] = [];
  for await (const [, madeAt, config] of rowsOf<Version>(reader, `${sql} AND a.agent_id IS NULL`, WHOLE)) {
    if (madeAt !== null) versions.push({ madeAt, policies: keepingOf(decodeText(config)) });
  }
  return versions.sort((a, b) => a.madeAt - b.madeAt);
}

/** Reports whether the workspace's policies ever had a retention. */
export const hasWorkspaceRetention = async (reader: Reader): Promise<boolean> =>
  (await loadWorkspacePolicies(reader)).some(({ policies }) => policies?.[RETENTION] != null);

const WHOLE: Wanted = { scope: "workspace" };

/** Returns by agent the latest moment such that entries written before it may have been removed as expired. */
async function loadSweeps(reader: Reader, retentionFor: (agentId: string | null) => Retention) {
  const swept = new Map<string | null, number>();
  // Sweeps, and restores, which end expired entries without counting them.
  const sql = `SELECT c.seq, ${eventColumn("c")} FROM events c WHERE c.rowid > ? AND c.operation IN (${sqlNames("expire", "restore")})`;
  for await (const [, column] of rowsOf<[number, Buffer]>(reader, sql, WHOLE)) {
    const named = readNamedEvent(column);
    if (named === null) continue;
    const { event, effect } = named;
    if (effect.kind === "none" || (effect.kind === "restore" && effect.restored + effect.removed > 0)) continue;
    const cutoffMs = cutoffOf(retentionFor(event.agent_id), event, effect);
    if (cutoffMs >= 0) swept.set(event.agent_id, Math.max(cutoffMs, swept.get(event.agent_id) ?? -1));
  }
  return swept;
}

const OF_AGENTS = "c JOIN agents a ON a.first_seq = c.agent WHERE c.rowid > ?";

/**
 * Yields pages of the rows of `c`, of one agent or all. The first column is `c.rowid`, after which the query's first
 * parameter continues. The agent is in `a`.
 */
async function* rowsOf<R extends Row>(reader: Reader, sql: string, wanted: Wanted): AsyncGenerator<R> {
  const [condition, bound] = "agentId" in wanted ? ["AND a.agent_id = ?", [wanted.agentId]] : ["", []];
  const page = `${sql} ${condition} ORDER BY c.rowid LIMIT ${ROWS_AT_ONCE}`;
  const read = (after: number) => reader.all<R>(page, [after, ...bound]);
  for await (const rows of pages(Number.MIN_SAFE_INTEGER, ROWS_AT_ONCE, read, (row) => row[0] as number)) yield* rows;
}
