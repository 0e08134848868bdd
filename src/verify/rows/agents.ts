/** Compares every agent's row, and everything that is stored under it, with the log. */

import { decodeText } from "../../store/packed.ts";
import type { Reader } from "../../store/transaction.ts";
import { pages } from "../../store/walk.ts";
import { integer, isOfWrongType, textBytes } from "../columns.ts";
import type { LogVerifier } from "../events/log-verifier.ts";
import { type AgentName, allOf, type Report } from "../problems.ts";
import { checkCheckpoints } from "./checkpoints.ts";
import { checkConfigs } from "./configs.ts";
import { EntryCheck, takeEntries } from "./entries.ts";
import { pagesOfAgent, pagesOfPresent, type StoredEntry } from "./entry-pages.ts";
import type { Census } from "./expected/census.ts";
import type { Histories } from "./expected/history.ts";

const AGENTS_AT_ONCE = 500;

type Row = [firstSeq: number, wrongType: number, agentId: Buffer | null, entries: number | null];

/** With the number of entries in the row of the agent's newest event. */
const SELECT = `SELECT first_seq, ${isOfWrongType("agent_id", "text")}, ${textBytes("agent_id")},
  (SELECT ${integer("entries")} FROM events e WHERE e.agent_id IS agents.agent_id ORDER BY agent_seq DESC LIMIT 1)
  FROM agents`;

/** The number of checked rows of each table. */
export interface RowCounts {
  configs: number;
  checkpoints: number;
  entries: number;
}

export interface StoredCheck {
  reader: Reader;
  verifier: LogVerifier;
  histories: Histories;
  census: Census;
}

/** Checks all agents and all present entries. Returns the numbers of rows, which show whether rows have no agent. */
export async function checkAllAgents(check: StoredCheck): Promise<RowCounts> {
  const total: RowCounts = { configs: 0, checkpoints: 0, entries: 0 };
  const checks = new Map<number, EntryCheck>();
  await eachAgent(check, async (row) => {
    const { configs, checkpoints, entries } = await checkAgent(check, row);
    total.configs += configs;
    total.checkpoints += checkpoints;
    checks.set(row[0], entries);
  });
  await checkEntries(check, pagesOfPresent(check.reader), checks);
  for (const { rows } of checks.values()) total.entries += rows;
  return total;
}

/** Checks the agents' own rows alone. */
export const checkAgentRows = (check: StoredCheck): Promise<void> =>
  eachAgent(check, async (row) => checkRow(check, nameOf(row), row, reporterOf(check, nameOf(row))));

/** Reads the row of each agent, and reports those that are missing or there twice. */
async function eachAgent(check: StoredCheck, take: (row: Row) => Promise<void>): Promise<void> {
  const met = new Set<string | null>();
  const sql = `${SELECT} WHERE first_seq > ? ORDER BY first_seq LIMIT ${AGENTS_AT_ONCE}`;
  const read = (after: number) => check.reader.all<Row>(sql, [after]);
  for await (const page of pages(Number.MIN_SAFE_INTEGER, AGENTS_AT_ONCE, read, ([firstSeq]) => firstSeq)) {
    for (const row of page) {
      const agentId = decodeText(row[2]);
      if (met.has(agentId))
        check.verifier.report("row_mismatch", agentId, row[0], "an agent has two rows", agentRow(agentId));
      met.add(agentId);
      await take(row);
    }
  }
  for (const [agentId, chain] of check.verifier.chains) {
    if (!met.has(agentId)) reportMissing(check, agentId, chain.first.event.seq);
  }
}

/** Checks one agent, if it has events. */
export async function checkOneAgent(check: StoredCheck, agentId: string): Promise<void> {
  const rows = await check.reader.all<Row>(`${SELECT} WHERE agent_id = ? LIMIT 2`, [agentId]);
  for (const row of rows) {
    const { entries } = await checkAgent(check, row);
    await checkEntries(check, pagesOfAgent(check.reader, row[0]), new Map([[row[0], entries]]));
  }
  const chain = check.verifier.chains.get(agentId);
  if (rows.length === 0 && chain !== undefined) reportMissing(check, agentId, chain.first.event.seq);
}

function reportMissing({ verifier }: StoredCheck, agentId: string | null, seq: number): void {
  const row = { ...agentRow(agentId), names: [seq] };
  verifier.report("content_missing", agentId, seq, "the row of an agent that has events is gone", row);
}

async function checkEntries(
  { reader }: StoredCheck,
  present: AsyncGenerator<StoredEntry[]>,
  checks: ReadonlyMap<number, EntryCheck>,
): Promise<void> {
  const checkOf = (agent: number | null) => (agent === null ? undefined : checks.get(agent));
  for await (const page of present) await takeEntries(reader, page, checkOf);
  for (const check of checks.values()) await check.finish(reader);
}

const agentRow = (agentId: string | null) => ({ table: "agents", key: agentId });

const nameOf = ([firstSeq, , idBytes]: Row): AgentName => ({ firstSeq, agentId: decodeText(idBytes) });

const reporterOf =
  ({ verifier }: StoredCheck, { agentId }: AgentName): Report =>
  (code, seq, message, row) =>
    verifier.report(code, agentId, seq, message, row);

/** Checks an agent without its entries. Returns the number of rows, and the check for the entries. */
async function checkAgent(check: StoredCheck, row: Row) {
  const { reader, census } = check;
  const [firstSeq, , , entries] = row;
  const name = nameOf(row);
  const report = reporterOf(check, name);
  const history = check.histories.of(name.agentId);
  checkRow(check, name, row, report);
  const configs = await checkConfigs(reader, name, report);
  const checkpoints = await checkCheckpoints(reader, name, history.facts.retention, report);
  const compareCounts = (table: string, what: string, stored: number, made: number) => {
    if (stored === made) return;
    const code = stored < made ? "content_missing" : "content_orphan";
    report(code, firstSeq, `${stored} ${what} are stored where the log leaves ${made}`, allOf(table));
  };
  if (!history.uncertain || configs < history.configs) {
    compareCounts("configs", "config versions", configs, history.configs);
  }
  if (history.prunedBefore === 0) compareCounts("checkpoints", "checkpoints", checkpoints.rows, history.checkpoints);
  const counted = !history.uncertain && checkpoints.rows === history.checkpoints;
  if (counted && !history.areCheckpoints(checkpoints.ids)) {
    const message = "the stored checkpoints are not those that the log leaves";
    report("content_mismatch", firstSeq, message, allOf("checkpoints"));
  }
  const facts = { checkpoints: checkpoints.counted, history, census, entries };
  return { configs: configs, checkpoints: checkpoints.rows, entries: new EntryCheck(name, facts, report) };
}

/** Checks the row itself: where the agent's chain begins. */
function checkRow({ verifier }: StoredCheck, name: AgentName, row: Row, report: Report): void {
  const [firstSeq, wrongType, idBytes] = row;
  const chain = verifier.chains.get(name.agentId);
  const place = agentRow(name.agentId);
  const unreadable = wrongType !== 0 || (idBytes !== null && name.agentId === null);
  if (unreadable || chain === undefined) {
    const message = "a row of an agent that has no events";
    report("row_mismatch", firstSeq, message, { ...place, names: [firstSeq] });
    return;
  }
  // The beginning of a pruned chain is not read when one agent is verified.
  const { seq, agent_seq: agentSeq } = chain.first.event;
  if (firstSeq === seq || agentSeq !== 1) return;
  const message = "an agent's row says that its chain begins with another event than it does";
  report("row_mismatch", firstSeq, message, { ...place, names: [firstSeq, seq] });
}
