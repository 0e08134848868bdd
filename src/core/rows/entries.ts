/**
 * An agent's data, in versions. A version is visible at position S of the log when `live_from <= S` and (`live_to` is
 * null or `live_to > S`). What an operation ends is kept as history, or because a checkpoint sees it; without either it is
 * overwritten or deleted on the spot.
 */
import type { JsonObject } from "../../json.ts";
import { keepsHistory } from "../../screen/history.ts";
import { freshAt, isFresh, type Viewer } from "../../screen/retention.ts";
import { after, type MaybePromise, type Reader, type Transaction } from "../../store/transaction.ts";
import { CHANGED_AT_ONCE, goOn, inSteps } from "../../store/walk.ts";
import type { AgentState } from "./agents.ts";
import { showVersion } from "./configs.ts";
import { BYTES, bytesOf, FRESH, freshBounds, type Sized } from "./expiry.ts";
import { versionOf, WRITTEN_RANDOM } from "./log/events.ts";

/** Longest key, in code points; see `endOfPrefix`. */
const MAX_KEY_LENGTH = 512;
/** Sorts after every key, in UTF-8 order. */
export const BEHIND_ALL_KEYS = "\u{10FFFF}".repeat(MAX_KEY_LENGTH + 1);
const SURROGATES_START = 0xd800;
const SURROGATES_END = 0xdfff;
const LAST_CODE_POINT = 0x10ffff;

/** Returns the least string after all those that begin with `prefix`, in UTF-8 byte order. */
export function endOfPrefix(prefix: string): string {
  const points = Array.from(prefix);
  while (points.length > 0) {
    const last = (points.pop() as string).codePointAt(0) as number;
    if (last === LAST_CODE_POINT) continue;
    const next = last + 1 === SURROGATES_START ? SURROGATES_END + 1 : last + 1;
    return points.join("") + String.fromCodePoint(next);
  }
  return BEHIND_ALL_KEYS;
}

/** Metadata of an entry as lists and checkpoints show it. */
export interface EntryRow {
  id: number;
  key: string;
  /** A JSON string. */
  value: string;
  /** A JSON object. */
  metadata: string;
  createdAt: number;
  updatedAt: number;
  isSetAside: boolean;
}

/** Returns the member that marks an entry that is set aside, as JSON text behind other members. */
export const markOf = ({ isSetAside }: Pick<EntryRow, "isSetAside">): string =>
  isSetAside ? ',"quarantined":true' : "";

/** A new content for a key. `salt`: of its digest, hex. `expiresAtMs`: when the entry ends by itself; null for never. */
type NewContent = Pick<EntryRow, "key" | "value" | "metadata"> & { salt: string; expiresAtMs: number | null };

/** The content of a version, whose value and metadata are JSON texts in the file. */
export const contentOf = (key: string, value: string, metadata: string) => ({
  key,
  value: JSON.parse(value) as string,
  metadata: JSON.parse(metadata) as JsonObject,
});

export type VersionContent = ReturnType<typeof contentOf>;

/** Returns the content of a version, present or past; undefined when there is none with this id. */
export async function findVersion(reader: Reader, id: number): Promise<VersionContent | undefined> {
  const row = await reader.get<[string, string, string]>("SELECT key, value, metadata FROM entries WHERE id = ?", [id]);
  return row && contentOf(...row);
}

/** A row was removed between two parts of a reading that is of no single state. */
export class ChangedMeanwhile extends Error {
  override readonly name = "ChangedMeanwhile";
}

/** Returns the content of a version, present or past, that this transaction has seen. */
export async function readVersion(reader: Reader, id: number): Promise<VersionContent> {
  const content = await findVersion(reader, id);
  if (content === undefined) throw new Error("a version vanished inside its own transaction");
  return content;
}

/** Returns the length of a version's value and metadata in the file, bytes, without reading them; 0 when there is none. */
export const textBytes = async (reader: Reader, id: number): Promise<number> =>
  (await reader.value<number>("SELECT octet_length(value) + octet_length(metadata) FROM entries WHERE id = ?", [id])) ??
  0;

/** By which event something happens, when, and for whom. */
export interface Moment extends Viewer {
  seq: number;
  /** Lets other workspaces have their turn, between the steps of work that may take long. */
  pause(): Promise<void>;
}

/** A condition on entries: their ids (a JSON array) and agent. Without the plus SQLite reads all entries of the agent. */
export const WITH_IDS_OF_AGENT = "id IN (SELECT value FROM json_each(?)) AND +agent = ?";

/** SQL: the condition that a version was present at a position, which it takes twice. */
export const PRESENT_AT = "live_from <= ? AND (live_to IS NULL OR live_to > ?)";

export const ENTRY_COLUMNS = "id, key, value, metadata, created_at, updated_at, quarantined";
export type EntryTuple = [
  id: number,
  key: string,
  value: string,
  metadata: string,
  created: number,
  updated: number,
  aside: number | null,
];

export function toEntryRow([id, key, value, metadata, createdAt, updatedAt, aside]: EntryTuple): EntryRow {
  return { id, key, value, metadata, createdAt, updatedAt, isSetAside: aside !== null };
}

export type FoundTuple = [...EntryTuple, expiresAt: number | null, ...Written];

/** An entry with its version. */
export interface VersionedRow extends EntryRow {
  /** When it ends by itself, ms; null for never. */
  expiresAt: number | null;
  writtenSeq: number;
  /** The id of the event that wrote it. */
  version: string;
}

export function toVersionedRow(row: FoundTuple): VersionedRow {
  const [id, key, value, metadata, createdAt, updatedAt, aside, expiresAt, writtenSeq, random] = row;
  return {
    id,
    key,
    value,
    metadata,
    createdAt,
    updatedAt,
    expiresAt,
    writtenSeq,
    version: versionOf(writtenSeq, random),
    isSetAside: aside !== null,
  };
}

// Made once: every read has it, and looks up its statement by it.
const PRESENT = `FROM entries WHERE agent = ? AND key = ? AND live_to IS NULL AND ${FRESH}`;
/** SQL: the columns of {@link FoundTuple}. */
export const FOUND_COLUMNS = `${ENTRY_COLUMNS}, expires_at, written_seq, ${WRITTEN_RANDOM}`;
const FIND = `SELECT ${FOUND_COLUMNS} ${PRESENT}`;

/** The parameters that name a key's present content, unless it does not exist for the viewer. */
const named = ({ firstSeq, policies }: AgentState, key: string, viewer: Viewer) =>
  [firstSeq, key, ...freshBounds(freshAt(policies, viewer))] as const;

/** The present content of a key, unless it does not exist for the viewer. */
export function findEntry(
  reader: Reader,
  viewer: Viewer,
  agent: AgentState,
  key: string,
): MaybePromise<VersionedRow | undefined> {
  const found = reader.get<FoundTuple>(FIND, named(agent, key, viewer));
  return after(found, (row) => row && toVersionedRow(row));
}

const FIND_VALUE = `SELECT value, quarantined, written_seq, ${WRITTEN_RANDOM} ${PRESENT}`;

/** Returns the value and the version of a key's present content; undefined when there is none. */
export function findValue(
  reader: Reader,
  viewer: Viewer,
  agent: AgentState,
  key: string,
): MaybePromise<Pick<VersionedRow, "value" | "writtenSeq" | "version" | "isSetAside"> | undefined> {
  const found = reader.get<[value: string, aside: number | null, ...Written]>(FIND_VALUE, named(agent, key, viewer));
  return after(found, (row) => {
    if (row === undefined) return undefined;
    const [value, aside, writtenSeq, random] = row;
    return { value, writtenSeq, version: versionOf(writtenSeq, random), isSetAside: aside !== null };
  });
}

const HAS = "SELECT 1 FROM entries WHERE agent = ? AND key = ? AND live_to IS NULL";

/** Whether a key has a present content that exists for a viewer. */
export const hasEntry = async (reader: Reader, agent: AgentState, key: string, viewer: Viewer): Promise<boolean> =>
  (await reader.value(`${HAS} AND ${FRESH}`, named(agent, key, viewer))) !== undefined;

/** Whether a key has a row of a present content, be it gone or not. */
export const hasRow = async (reader: Reader, { firstSeq }: AgentState, key: string): Promise<boolean> =>
  (await reader.value(HAS, [firstSeq, key])) !== undefined;

const FIND_WRITTEN = `SELECT written_seq, ${WRITTEN_RANDOM} ${PRESENT}`;
type Written = [writtenSeq: number, random: Uint8Array | null];

/** The version of a key's present content; null when there is none that exists for the viewer. */
export async function entryVersion(reader: Reader, viewer: Viewer, agent: AgentState, key: string) {
  const written = await reader.get<Written>(FIND_WRITTEN, named(agent, key, viewer));
  return written === undefined ? null : versionOf(...written);
}

/** Who wrote an entry's content, and the config version in force then. */
export async function findEntryOrigin(reader: Reader, id: number) {
  const row = await reader.get<[string, number | null]>(
    `SELECT v.actor, v.config_version
     FROM entries e JOIN events v ON v.seq = e.written_seq WHERE e.id = ?`,
    [id],
  );
  if (row === undefined) throw new ChangedMeanwhile("an entry, or the event that it names, is not there");
  return { writtenBy: row[0], configVersion: showVersion(row[1]) };
}

const CONTENT = "agent, key, value, metadata, salt, written_seq, created_seq, created_at, updated_at, expires_at";

/** Keeps a copy of a present version as an ended one, when a checkpoint may see it, or as history unless it is gone. */
const KEEP = `INSERT INTO entries (live_from, live_to, quarantined, ${CONTENT})
  SELECT live_from, ?1, quarantined, ${CONTENT} FROM entries WHERE agent = ?2 AND key = ?3 AND live_to IS NULL
    AND (live_from <= ?4 OR (?5 AND updated_at >= ?6 AND (expires_at IS NULL OR expires_at > ?7)))`;

/** A new content in place of one that is neither gone nor set aside. */
const overwrite = (change: string, condition: string) => `UPDATE entries
  SET value = ?1, metadata = ?2, salt = unhex(?3), written_seq = ?4, live_from = ?4, updated_at = ?5${change}
  WHERE agent = ?6 AND key = ?7 AND live_to IS NULL AND updated_at >= ?8 AND quarantined IS NULL
    AND ${condition}`;

/** Of contents without a time of their own, which most writes are: this leaves the index of such times alone. */
const OVERWRITE_LASTING = overwrite("", "expires_at IS NULL");
const OVERWRITE = overwrite(", expires_at = ?10", "(expires_at IS NULL OR expires_at > ?9)");

/** Writes a content as the present one. Returns by how much the number of live entries grew: 1 or 0. */
export function putEntry(
  tx: Transaction,
  agent: AgentState,
  content: NewContent,
  moment: Moment,
): MaybePromise<number> {
  const { seq, nowMs } = moment;
  const { key, value, metadata, salt, expiresAtMs } = content;
  const { firstSeq, newestCheckpoint: seen, policies } = agent;
  const { cutoffMs } = freshAt(policies, moment);
  const history = keepsHistory(policies);
  const kept = seen < 0 && !history ? 0 : tx.change(KEEP, [seq, firstSeq, key, seen, history ? 1 : 0, cutoffMs, nowMs]);
  const written = [value, metadata, salt, seq, nowMs, firstSeq, key, cutoffMs];
  const changed = after(kept, () =>
    expiresAtMs === null
      ? tx.change(OVERWRITE_LASTING, written)
      : tx.change(OVERWRITE, [...written, nowMs, expiresAtMs]),
  );
  return after(changed, (overwritten) => {
    if (overwritten === 1) return 0;
    const created = insertLive(tx, agent, content, { createdSeq: seq, createdAt: nowMs }, moment);
    return after(created, (rows) => (rows === 1 ? 1 : replaceLive(tx, agent, content, moment)));
  });
}

type LiveTuple = [
  id: number,
  createdSeq: number,
  createdAt: number,
  updatedAt: number,
  expiresAt: number | null,
  aside: number | null,
];

/** Writes a content in place of one that is gone, ends by itself, or is set aside. Returns 0. */
async function replaceLive(tx: Transaction, agent: AgentState, content: NewContent, moment: Moment) {
  const live = await tx.get<LiveTuple>(
    `SELECT id, created_seq, created_at, updated_at, expires_at, quarantined FROM entries
     WHERE agent = ? AND key = ? AND live_to IS NULL`,
    [agent.firstSeq, content.key],
  );
  if (live === undefined) throw new Error("an entry vanished inside its own transaction");
  const [id, createdSeq, createdAt, updatedAt, expiresAt, aside] = live;
  // An entry that does not exist for whom writes: the next write of its key creates a new one.
  const goesOn = isFresh({ updatedAt, expiresAt, isSetAside: aside !== null }, freshAt(agent.policies, moment));
  const origin = goesOn ? { createdSeq, createdAt } : { createdSeq: moment.seq, createdAt: moment.nowMs };
  await tx.run("DELETE FROM entries WHERE id = ?", [id]);
  await insertLive(tx, agent, content, origin, moment);
  return 0;
}

const INSERT_LIVE = `INSERT INTO entries (live_from, ${CONTENT})
  VALUES (?6, ?1, ?2, ?3, ?4, unhex(?5), ?6, ?7, ?8, ?9, ?10)
  ON CONFLICT (agent, key) WHERE live_to IS NULL DO NOTHING`;

/** Inserts a content as the present one, unless the key has one. Returns how many rows it inserted. */
function insertLive(
  tx: Transaction,
  { firstSeq }: AgentState,
  { key, value, metadata, salt, expiresAtMs }: NewContent,
  { createdSeq, createdAt }: { createdSeq: number; createdAt: number },
  { seq, nowMs }: Moment,
): MaybePromise<number> {
  const row = [firstSeq, key, value, metadata, salt, seq, createdSeq, createdAt, nowMs, expiresAtMs];
  return tx.change(INSERT_LIVE, row);
}

/**
 * Ends the present entries that a condition names. Without a history, only what a checkpoint may see is kept. Returns how
 * many ended.
 */
async function endWhere(
  tx: Transaction,
  agent: AgentState,
  seq: number,
  condition: string,
  parameters: readonly (string | number)[],
): Promise<number> {
  const named = `agent = ? AND live_to IS NULL AND ${condition}`;
  const bound = [agent.firstSeq, ...parameters];
  const seen = keepsHistory(agent.policies) ? seq : agent.newestCheckpoint;
  const keep = `UPDATE entries SET live_to = ? WHERE ${named} AND live_from <= ?`;
  const kept = seen < 0 ? 0 : await tx.change(keep, [seq, ...bound, seen]);
  const deleted = await tx.change(`DELETE FROM entries WHERE ${named}`, bound);
  return kept + deleted;
}

/** Ends one key's present entry unless it does not exist for the viewer. Returns 1 or 0. */
export function endEntry(tx: Transaction, agent: AgentState, key: string, moment: Moment): Promise<number> {
  const bounds = freshBounds(freshAt(agent.policies, moment));
  return endWhere(tx, agent, moment.seq, `key = ? AND ${FRESH}`, [key, ...bounds]);
}

const BETWEEN = `key BETWEEN ? AND ? AND ${FRESH}`;

/** Ends every present entry that exists for the viewer and whose key begins with `prefix`. Returns how many. */
export async function endPrefix(tx: Transaction, agent: AgentState, prefix: string, moment: Moment): Promise<number> {
  const end = endOfPrefix(prefix);
  const bounds = freshBounds(freshAt(agent.policies, moment));
  const sql = `SELECT key, ${BYTES} FROM entries
    WHERE agent = ? AND live_to IS NULL AND key >= ? AND key < ? ORDER BY key LIMIT ?`;
  for (let [ended, from] = [0, prefix]; ; ) {
    const rows = await tx.all<Sized<string>>(sql, [agent.firstSeq, from, end, CHANGED_AT_ONCE + 1]);
    for (const step of inSteps(rows.slice(0, CHANGED_AT_ONCE), bytesOf)) {
      await moment.pause();
      const keys = [step[0][0], (step.at(-1) as Sized<string>)[0]];
      ended += await endWhere(tx, agent, moment.seq, BETWEEN, [...keys, ...bounds]);
    }
    const next = rows[CHANGED_AT_ONCE]?.[0];
    if (next === undefined) return ended;
    from = goOn(from, next);
  }
}
