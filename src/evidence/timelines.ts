/** What must be known of every agent before the log is read: see {@link Timeline}. */
import { isId } from "../ids.ts";
import type { JsonObject, JsonValue } from "../json.ts";
import { policiesOf, retentionCutoff } from "../state/configs.ts";
import type { Reader, Row } from "../store/transaction.ts";
import { decodeText, integer, textBytes } from "./columns.ts";
import { type EventColumns, eventColumns, readNamedEvent } from "./events-named.ts";
import { Timeline } from "./timeline.ts";

const ROWS_AT_ONCE = 2_000;

/** One agent, or all of them. */
export type Wanted = { agentId: string } | { scope: "workspace" };

/** The timelines of the agents that have checkpoints or retention, before any event is added. */
export async function loadTimelines(reader: Reader, wanted: Wanted): Promise<Map<string | null, Timeline>> {
  const checkpoints = await loadCheckpoints(reader, wanted);
  const retention = await loadRetention(reader, wanted);
  const { swept, restored } = await loadDisturbances(reader, wanted, retention);
  const agents = new Set([...checkpoints.keys(), ...retention.keys(), ...restored.keys()]);
  const timelines = new Map<string | null, Timeline>();
  for (const agentId of agents) {
    const positions = Float64Array.from(checkpoints.get(agentId) ?? []).sort();
    const rest = [retention.get(agentId), swept.get(agentId), restored.get(agentId)] as const;
    timelines.set(agentId, new Timeline(positions, ...rest));
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

interface Disturbances {
  /** For each agent the latest moment before which a sweep removed what was written. */
  swept: Map<string | null, number>;
  /** For each agent and restore the position whose state it brought back. */
  restored: Map<string | null, Map<number, number>>;
}

const OPERATIONS = "operation IN ('data.expire', 'checkpoint.restore')";

async function loadDisturbances(
  reader: Reader,
  wanted: Wanted,
  retention: ReadonlyMap<string | null, ReadonlyMap<string, number>>,
): Promise<Disturbances> {
  const found: Disturbances = { swept: new Map(), restored: new Map() };
  // The inner query is answered by an index alone.
  const condition = "agentId" in wanted ? `agent_id = ? AND ${OPERATIONS}` : OPERATIONS;
  const sql = `SELECT v.seq, ${eventColumns("v")} FROM events v
    WHERE v.seq > ? AND v.seq IN (SELECT seq FROM events WHERE ${condition})`;
  for await (const [seq, ...columns] of rowsOf<[number, ...EventColumns]>(reader, sql, wanted, "v.seq")) {
    const named = readNamedEvent(...columns);
    if (named === null) continue;
    const { agent_id: agentId, config_version: version, operation } = named.event;
    if (operation === "data.expire") {
      const retentionDays = (version === null ? undefined : retention.get(agentId)?.get(version)) ?? null;
      const cutoff = retentionCutoff({ blockPii: false, blockSecrets: false, retentionDays }, named.timeMs);
      found.swept.set(agentId, Math.max(cutoff, found.swept.get(agentId) ?? -1));
    } else {
      const asOf = await positionOf(reader, named.details?.checkpoint_id);
      const known = found.restored.get(agentId) ?? new Map<number, number>();
      if (asOf !== null) found.restored.set(agentId, known.set(seq, asOf));
    }
  }
  return found;
}

/** The position that a checkpoint sees; null when it is stored no more. */
async function positionOf(reader: Reader, id: JsonValue | undefined): Promise<number | null> {
  if (typeof id !== "string" || !isId("cp", id)) return null;
  const row = await reader.get<[number | null]>(
    `SELECT ${integer("as_of_seq")} FROM checkpoints WHERE id = ?`,
    [id],
  );
  return row?.[0] ?? null;
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
    after = (rows.at(-1) as R)[0] as number;
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
