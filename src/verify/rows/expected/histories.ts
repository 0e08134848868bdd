/** What must be known of every agent before the log is read: see {@link StoredFacts}. */
import type { JsonObject } from "../../../json.ts";
import { recordedEffect } from "../../../log/effects.ts";
import { type PolicySettings, policiesOf } from "../../../policy/policies.ts";
import { RETENTION } from "../../../policy/retention.ts";
import { sqlNames } from "../../../state/entry-changes.ts";
import type { Reader, Row } from "../../../store/transaction.ts";
import { goOn } from "../../../store/walk.ts";
import { decodeText, integer, textBytes } from "../../columns.ts";
import { type EventColumns, eventColumns, readNamedEvent } from "../events-named.ts";
import { cutoffOf, Histories, NOTHING_STORED, type Retention, type StoredFacts } from "./history.ts";

const ROWS_AT_ONCE = 2_000;

/** One agent, or all of them. */
export type Wanted = { agentId: string } | { scope: "workspace" };

/** The histories of all agents, before any event is taken. @param prunedBefore see {@link Histories} */
export async function loadHistories(reader: Reader, wanted: Wanted, prunedBefore: number): Promise<Histories> {
  const checkpoints = await loadCheckpoints(reader, wanted);
  const retention = await loadRetention(reader, wanted);
  const swept = await loadSweeps(reader, wanted, retention);
  const facts = new Map<string | null, StoredFacts>();
  for (const agentId of new Set([...checkpoints.keys(), ...retention.keys()])) {
    facts.set(agentId, {
      checkpoints: Float64Array.from(checkpoints.get(agentId) ?? []).sort(),
      retention: retention.get(agentId) ?? NOTHING_STORED.retention,
      sweptBeforeMs: swept.get(agentId) ?? -1,
    });
  }
  return new Histories(facts, prunedBefore);
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

async function loadRetention(reader: Reader, wanted: Wanted): Promise<Map<string | null, Map<string, PolicySettings>>> {
  const retention = new Map<string | null, Map<string, PolicySettings>>();
  const columns = `c.rowid, ${textBytes("a.agent_id")}, ${integer("c.version")}, ${textBytes("c.config")}`;
  for await (const [, agent, version, bytes] of rowsOf<[number, Buffer | null, number | null, Buffer | null]>(
    reader,
    `SELECT ${columns} FROM configs c JOIN agents a ON a.first_seq = c.agent
     WHERE c.rowid > ? AND instr(c.config, '${RETENTION}') > 0 ${only(wanted)}`,
    wanted,
    "c.rowid",
  )) {
    const policies = retentionOf(decodeText(bytes));
    if (policies === null || version === null) continue;
    const agentId = decodeText(agent);
    const known = retention.get(agentId) ?? new Map<string, PolicySettings>();
    retention.set(agentId, known.set(`v${version}`, policies));
  }
  return retention;
}

/** Sweeps, and restores: these end expired entries without counting them. */
const REMOVALS = `operation IN (${sqlNames("expire", "restore")})`;

/** For each agent the latest moment before which what was written may have been removed as expired. */
async function loadSweeps(
  reader: Reader,
  wanted: Wanted,
  retention: ReadonlyMap<string | null, Retention>,
): Promise<Map<string | null, number>> {
  const swept = new Map<string | null, number>();
  if (retention.size === 0) return swept;
  // The inner query is answered by an index alone.
  const condition = "agentId" in wanted ? `agent_id = ? AND ${REMOVALS}` : REMOVALS;
  const sql = `SELECT v.seq, ${eventColumns("v")} FROM events v
    WHERE v.seq > ? AND v.seq IN (SELECT seq FROM events WHERE ${condition})`;
  for await (const [, ...columns] of rowsOf<[number, ...EventColumns]>(reader, sql, wanted, "v.seq")) {
    const named = readNamedEvent(...columns);
    const known = retention.get(named?.event.agent_id ?? null);
    if (named === null || known === undefined) continue;
    const effect = recordedEffect(named.event, named.details);
    if (effect.kind === "none" || (effect.kind === "restore" && effect.restored + effect.removed > 0)) continue;
    const { agent_id: agentId } = named.event;
    swept.set(agentId, Math.max(cutoffOf(known, named.event, effect), swept.get(agentId) ?? -1));
  }
  return swept;
}

/** Rows in pages. The first column is the position that the query's first parameter continues from. */
async function* rowsOf<R extends Row>(reader: Reader, sql: string, wanted: Wanted, order: string): AsyncGenerator<R> {
  const bound = "agentId" in wanted ? [wanted.agentId] : [];
  for (let after = Number.MIN_SAFE_INTEGER; ; ) {
    const rows = await reader.all<R>(`${sql} ORDER BY ${order} LIMIT ${ROWS_AT_ONCE}`, [after, ...bound]);
    yield* rows;
    if (rows.length < ROWS_AT_ONCE) return;
    after = goOn(after, (rows.at(-1) as R)[0] as number);
  }
}

const only = (wanted: Wanted): string => ("agentId" in wanted ? "AND a.agent_id = ?" : "");

/** The policies of a stored config; null without a retention, and when the text is no config. */
export function retentionOf(config: string | null): PolicySettings | null {
  try {
    const policies = config === null ? null : policiesOf(JSON.parse(config) as JsonObject);
    return policies?.[RETENTION] == null ? null : policies;
  } catch {
    return null; // text that is no config does not fit its digest, which is reported with the config
  }
}
