/**
 * Keeps full-text indexes over the entries of large agents. An index follows the agent's audit trail in steps of
 * bounded size, each in its own transaction between operations, so writes do not pay for it, and a crash loses nothing.
 * Agents without an index cost nothing.
 */
import schema from "../../../sql/workspace/derived/full-text.sql" with { type: "text" };
import { documentStems } from "../../search/index/full-text.ts";
import { TOKENS_VERSION } from "../../search/words/tokenize.ts";
import type { Connection } from "../../store/connection.ts";
import { hasTable, type Reader, type Transaction } from "../../store/transaction.ts";
import { goOn } from "../../store/walk.ts";
import { type AgentState, WITH_HEADS } from "./agents.ts";
import { readVersion } from "./entries.ts";
import { changesAfter, type EntryChange } from "./entry-changes.ts";

/** The tables. They are made when first needed. */
export const FULL_TEXT_SCHEMA = schema;
/** The table whose existence shows that all tables exist. */
export const FULL_TEXT_TABLE = "search_agents";

/** Agents with more live entries than this get full text. */
export const FULL_TEXT_FROM = 300_000;

/** The most rows of one step, and the most characters of their values, unless the first value has more. */
const ROWS_AT_ONCE = 100;
const CHARACTERS_AT_ONCE = 128 * 1024;
const EVENTS_AT_ONCE = 200;

/** The pages that one step merges. */
const PAGES_AT_ONCE = 200;

type FullTextPhase = "adding" | "clearing" | "merging" | "complete" | "dropping";

export interface FullTextState {
  /** `agents.first_seq`. */
  agent: number;
  phase: FullTextPhase;
  /** Adding, clearing: the key up to which the phase has come. Complete: the `TOKENS_VERSION` of the words. */
  after: string;
  throughAgentSeq: number;
}

type StateRow = [agent: number, phase: FullTextPhase, after: string, through: number];

/** Returns the state of an agent's full text; null when it has none. One with words of another version is to be dropped. */
export async function readFullText(reader: Reader, agent: AgentState): Promise<FullTextState | null> {
  if (!(await hasTable(reader, FULL_TEXT_TABLE))) return null;
  const sql = "SELECT agent, phase, after, through_agent_seq FROM search_agents WHERE agent = ?";
  const row = await reader.get<StateRow>(sql, [agent.firstSeq]);
  if (row === undefined) return null;
  const [own, phase, after, throughAgentSeq] = row;
  const isOutdated = phase === "complete" && after !== TOKENS_VERSION;
  return { agent: own, phase: isOutdated ? "dropping" : phase, after, throughAgentSeq };
}

/** Whether any agent of the workspace has full text. */
export async function hasFullText(reader: Reader): Promise<boolean> {
  return (await hasTable(reader, FULL_TEXT_TABLE)) && isAnyKept(reader);
}

const isAnyKept = async (reader: Reader): Promise<boolean> =>
  (await reader.value<number>("SELECT agent FROM search_agents LIMIT 1")) !== undefined;

/** Begins an agent's full text unless it has one; to be called inside a transaction. */
export async function startFullText(connection: Connection, agentId: string): Promise<void> {
  if (!(await hasTable(connection, FULL_TEXT_TABLE))) connection.exec(FULL_TEXT_SCHEMA);
  connection.run(
    `INSERT OR IGNORE INTO search_agents
     SELECT a.first_seq, 'adding', '', h.agent_seq, h.entries FROM ${WITH_HEADS} WHERE a.agent_id = ?`,
    [agentId],
  );
}

/**
 * Runs the next step of the workspace's full text, inside a transaction. Returns false when there was nothing to do.
 */
export async function stepFullText(tx: Transaction): Promise<boolean> {
  await tx.run("UPDATE search_agents SET phase = 'dropping' WHERE phase = 'complete' AND after <> ?", [TOKENS_VERSION]);
  const row = await tx.get<[...StateRow, string, number, number, number]>(
    `SELECT s.agent, s.phase, s.after, s.through_agent_seq,
       a.agent_id, h.agent_seq, h.entries, s.started_at_entries
     FROM ${WITH_HEADS} JOIN search_agents s ON s.agent = a.first_seq
     WHERE s.phase <> 'complete' OR s.through_agent_seq < h.agent_seq
     LIMIT 1`,
  );
  if (row === undefined) return false;
  const [agent, phase, after, throughAgentSeq, agentId, headSeq, liveEntries, startedAt] = row;
  const state = { agent, phase, after, throughAgentSeq };
  // Full text is dropped only below half of the size at which it began, so that it is not begun again soon.
  if (phase !== "dropping" && 2 * liveEntries < startedAt) await setPhase(tx, state, "dropping");
  else if (phase === "adding") await add(tx, state);
  else if (phase === "clearing") await clear(tx, state);
  else if (phase === "merging") await merge(tx, state);
  else if (phase === "dropping") await drop(tx, state);
  else await follow(tx, state, agentId, headSeq);
  return true;
}

async function setPhase(tx: Transaction, { agent }: FullTextState, phase: FullTextPhase, after = "") {
  await tx.run("UPDATE search_agents SET phase = ?, after = ? WHERE agent = ?", [phase, after, agent]);
}

/** Continues the phase after a key. @throws {OutOfOrder} */
function continueBehind(tx: Transaction, state: FullTextState, key: string): Promise<void> {
  return setPhase(tx, state, state.phase, goOn(state.after, key));
}

type LiveRow = [id: number, key: string, writtenSeq: number, length: number];

/** Adds the next live entries in the order of their keys. */
async function add(tx: Transaction, state: FullTextState): Promise<void> {
  const rows = await tx.all<LiveRow>(
    `SELECT id, key, written_seq, length(value) FROM entries
     WHERE agent = ? AND live_to IS NULL AND key > ? ORDER BY key LIMIT ?`,
    [state.agent, state.after, ROWS_AT_ONCE],
  );
  let after = state.after;
  let characters = 0;
  for (const [id, key, writtenSeq, length] of rows) {
    characters += length;
    if (characters > CHARACTERS_AT_ONCE && after !== state.after) return continueBehind(tx, state, after);
    await put(tx, state.agent, { id, key, writtenSeq });
    after = key;
  }
  if (rows.length < ROWS_AT_ONCE) await setPhase(tx, state, "clearing");
  else await continueBehind(tx, state, after);
}

type ClearRow = [entry: number, key: string, live: number];

/** Removes the next entries that are not live any more. */
async function clear(tx: Transaction, state: FullTextState): Promise<void> {
  const rows = await tx.all<ClearRow>(
    `SELECT s.entry, s.key, e.id IS NOT NULL FROM search_rows s
     LEFT JOIN entries e ON e.id = s.entry AND e.agent = s.agent AND e.key = s.key
       AND e.live_to IS NULL AND e.written_seq = s.written_seq
     WHERE s.agent = ? AND s.key > ? ORDER BY s.key LIMIT ?`,
    [state.agent, state.after, ROWS_AT_ONCE],
  );
  for (const [entry, , live] of rows) if (live === 0) await takeOut(tx, entry);
  if (rows.length < ROWS_AT_ONCE) await setPhase(tx, state, "merging");
  else await continueBehind(tx, state, (rows.at(-1) as ClearRow)[1]);
}

/**
 * Merges all segments into one, a few pages at a time. Before that, the words of removed entries are still in the file,
 * which an erasure does not allow.
 */
async function merge(tx: Transaction, state: FullTextState): Promise<void> {
  const began = state.after !== "";
  const before = await totalChanges(tx);
  // A negative number starts a merge of everything; a positive one continues it.
  const pages = began ? PAGES_AT_ONCE : -PAGES_AT_ONCE;
  await tx.run("INSERT INTO search_texts (search_texts, rank) VALUES ('merge', ?)", [pages]);
  // FTS5 counts one change for the command itself.
  const merged = (await totalChanges(tx)) - before > 1;
  if (merged || !began) await setPhase(tx, state, "merging", "begun");
  else await setPhase(tx, state, "complete", TOKENS_VERSION);
}

const totalChanges = async (reader: Reader): Promise<number> =>
  (await reader.value<number>("SELECT total_changes()")) ?? 0;

async function drop(tx: Transaction, { agent }: FullTextState): Promise<void> {
  const rows = await tx.all<[number]>("SELECT entry FROM search_rows WHERE agent = ? LIMIT ?", [agent, ROWS_AT_ONCE]);
  for (const [entry] of rows) await takeOut(tx, entry);
  if (rows.length === ROWS_AT_ONCE) return;
  await tx.run("DELETE FROM search_agents WHERE agent = ?", [agent]);
  // Its words leave the file at once if no other agent has full text, otherwise when the segments are merged.
  await tx.run("UPDATE search_agents SET phase = 'merging', after = '' WHERE phase = 'complete'");
  if (!(await isAnyKept(tx))) await tx.run("INSERT INTO search_texts (search_texts) VALUES ('delete-all')");
}

/** Follows the next events. An event that names no key starts a pass over all entries. */
async function follow(tx: Transaction, state: FullTextState, agentId: string, headSeq: number) {
  const range = { after: state.throughAgentSeq, through: headSeq, limit: EVENTS_AT_ONCE };
  const changes = await changesAfter(tx, agentId, range);
  if (changes === null) {
    const sql = "UPDATE search_agents SET phase = 'adding', after = '', through_agent_seq = ? WHERE agent = ?";
    await tx.run(sql, [headSeq, state.agent]);
    return;
  }
  let through =
    changes.length < EVENTS_AT_ONCE ? headSeq : goOn(state.throughAgentSeq, (changes.at(-1) as EntryChange).agentSeq);
  const keys = new Set<string>();
  for (const { agentSeq, changed } of changes) {
    if (typeof changed === "string") {
      // If entries were only removed, clearing is enough.
      await setPhase(tx, state, changed === "fewer" ? "clearing" : "adding");
      through = agentSeq;
      break;
    }
    keys.add(changed.key);
  }
  for (const key of keys) await followKey(tx, state.agent, key);
  await tx.run("UPDATE search_agents SET through_agent_seq = ? WHERE agent = ?", [through, state.agent]);
}

async function followKey(tx: Transaction, agent: number, key: string): Promise<void> {
  const row = await tx.get<[id: number, writtenSeq: number]>(
    "SELECT id, written_seq FROM entries WHERE agent = ? AND key = ? AND live_to IS NULL",
    [agent, key],
  );
  if (row !== undefined) return put(tx, agent, { id: row[0], key, writtenSeq: row[1] });
  const known = await rowOfKey(tx, agent, key);
  if (known !== undefined) await takeOut(tx, known[0]);
}

const rowOfKey = (tx: Transaction, agent: number, key: string) =>
  tx.get<[entry: number, writtenSeq: number]>(
    "SELECT entry, written_seq FROM search_rows WHERE agent = ? AND key = ?",
    [agent, key],
  );

/** Replaces an entry's words by those of its present content. */
async function put(tx: Transaction, agent: number, entry: { id: number; key: string; writtenSeq: number }) {
  const { id, key, writtenSeq } = entry;
  const known = await rowOfKey(tx, agent, key);
  if (known?.[0] === id && known[1] === writtenSeq) return;
  if (known !== undefined) await takeOut(tx, known[0]);
  // The id may be that of a deleted entry.
  await takeOut(tx, id);
  const words = documentStems(await readVersion(tx, id)).map((stem) => termOf(agent, stem));
  await tx.run("INSERT INTO search_texts (rowid, words) VALUES (?, ?)", [id, words.join(" ")]);
  const sql = "INSERT INTO search_rows (entry, agent, key, written_seq) VALUES (?, ?, ?, ?)";
  await tx.run(sql, [id, agent, key, writtenSeq]);
}

async function takeOut(tx: Transaction, entry: number): Promise<void> {
  const removed = await tx.change("DELETE FROM search_rows WHERE entry = ?", [entry]);
  if (removed > 0) await tx.run("DELETE FROM search_texts WHERE rowid = ?", [entry]);
}

/** Returns the term of a stem in the full text: the stem, prefixed with its agent. */
export const termOf = (agent: number, stem: string): string => `${agent.toString(36)}_${stem}`;
