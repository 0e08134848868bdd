/** What must be known of every agent before the log is read: see {@link Timeline}. */
import type { JsonObject } from "../../../json.ts";
import { policiesOf } from "../../../state/configs.ts";
import type { Reader, Row } from "../../../store/transaction.ts";
import { goOn } from "../../../store/walk.ts";
import { decodeText, integer, textBytes } from "../../columns.ts";
import { type EventColumns, eventColumns, readNamedEvent } from "../events-named.ts";
import { changedNothing, type Retention, restoreCutoff } from "./retention.ts";
import { Timeline } from "./timeline.ts";

const ROWS_AT_ONCE = 2_000;

/** One agent, or all of them. */
export type Wanted = { agentId: string } | { scope: "workspace" };

/** The timelines of the agents that have checkpoints or retention, before any event is added. */
export async function loadTimelines(reader: Reader, wanted: Wanted): Promise<Map<string | null, Timeline>> {
  const checkpoints = await loadCheckpoints(reader, wanted);
  const retention = await loadRetention(reader, wanted);
  const swept =
    retention.size === 0 ? new Map<string | null, number>() : await loadSweeps(reader, wanted, retention);
  const agents = new Set([...checkpoints.keys(), ...retention.keys()]);
  const timelines = new Map<string | null, Timeline>();
  for (const agentId of agents) {
    const positions = Float64Array.from(checkpoints.get(agentId) ?? []).sort();
    timelines.set(agentId, new Timeline(positions, retention.get(agentId), swept.get(agentId)));
  }
  return timelines;
}

async function loadCheckpoints(reader: Reader, wanted: Wanted): Promise<Map<string | null, number[]>> {
  const positions = new Map<string | null, number[]>();
  const columns = `c.rowid, ${textBytes("a.agent_id")}, ${integer("c.as_of_seq")}`;
  for await (const [, agent, asOfSeq] of rowsOf<[number, Buffer | null, number | null]>(
    reader,
    `SELECT ${columns} FROM checkpoints c JOIN agents a ON a.first_seq = c.agent WHERE c.rowid > ? ${only(wanted)}`,
    wanted,
    "c.rowid",
  )) {
    if (asOfSeq === null) continue;
    const agentId = decodeText(agent);
    const known = positions.get(agentId);
    if (known === undefined) positions.set(agentId, [asOfSeq]);
    else known.push(asOfSeq);
  }
  return positions;
}

async function loadRetention(
  reader: Reader,
  wanted: Wanted,
): Promise<Map<string | null, Map<string, number>>> {
  const retention = new Map<string | null, Map<string, number>>();
  const columns = `c.rowid, ${textBytes("a.agent_id")}, ${integer("c.version")}, ${textBytes("c.config")}`;
  for await (const [, agent, version, bytes] of rowsOf<[number, Buffer | null, number | null, Buffer | null]>(
    reader,
    `SELECT ${columns} FROM configs c JOIN agents a ON a.first_seq = c.agent
     WHERE c.rowid > ? AND instr(c.config, 'retention_days') > 0 ${only(wanted)}`,
    wanted,
    "c.rowid",
  )) {
    const days = retentionOf(decodeText(bytes));
    if (days === null || version === null) continue;
    const agentId = decodeText(agent);
    const known = retention.get(agentId) ?? new Map<string, number>();
    retention.set(agentId, known.set(`v${version}`, days));
  }
  return retention;
}

/** Sweeps, and restores: these end expired entries without counting them. */
const REMOVALS = "operation IN ('data.expire', 'checkpoint.restore')";

/** For each agent the latest moment before which what was written may have been removed as expired. */
async function loadSweeps(
  reader: Reader,
  wanted: Wanted,
  retention: ReadonlyMap<string | null, Retention>,
): Promise<Map<string | null, number>> {
  const swept = new Map<string | null, number>();
  // The inner query is answered by an index alone.
  const condition = "agentId" in wanted ? `agent_id = ? AND ${REMOVALS}` : REMOVALS;
  const sql = `SELECT v.seq, ${eventColumns("v")} FROM events v
    WHERE v.seq > ? AND v.seq IN (SELECT seq FROM events WHERE ${condition})`;
  for await (const [, ...columns] of rowsOf<[number, ...EventColumns]>(reader, sql, wanted, "v.seq")) {
    const named = readNamedEvent(...columns);
    if (named === null) continue;
    const { agent_id: agentId, operation } = named.event;
    const known = retention.get(agentId);
    if (known === undefined) continue;
    const isRestore = operation === "checkpoint.restore";
    if (isRestore && named.details !== null && !changedNothing(named.details)) continue;
    const cutoff = restoreCutoff(known, named.event, isRestore ? named.details : null);
    swept.set(agentId, Math.max(cutoff, swept.get(agentId) ?? -1));
  }
  return swept;
}

/** Rows in pages; the first column is the number that the query's first parameter goes on from. */
async function* rowsOf<R extends Row>(
  reader: Reader,
  sql: string,
  wanted: Wanted,
  order: string,
): AsyncGenerator<R> {
  const bound = "agentId" in wanted ? [wanted.agentId] : [];
  for (let after = Number.MIN_SAFE_INTEGER; ; ) {
    const rows = await reader.all<R>(`${sql} ORDER BY ${order} LIMIT ${ROWS_AT_ONCE}`, [after, ...bound]);
    yield* rows;
    if (rows.length < ROWS_AT_ONCE) return;
    after = goOn(after, (rows.at(-1) as R)[0] as number);
  }
}

const only = (wanted: Wanted): string => ("agentId" in wanted ? "AND a.agent_id = ?" : "");

function retentionOf(config: string | null): number | null {
  try {
    return config === null ? null : policiesOf(JSON.parse(config) as JsonObject).retentionDays;
  } catch {
    return null; // text that is no config does not fit its digest, which is reported with the config
  }
}
