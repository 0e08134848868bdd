/**
 * The verification of one workspace file: every event of its log, and every row stored beside the log
 * against the events that account for it. Shared by the daemon and `governd verify`.
 *
 * What is found: any change of any column of `head`, `events`, `agents`, `configs`, `checkpoints`, `tiles`,
 * `seals`, `seal_keys` and `entries` (but `entries.id` and `seals.id`, which say nothing), and any row that is added, taken away, exchanged
 * or given to another agent. What cannot be found without a seal: a log that was cut off at its end,
 * or written anew, together with everything stored beside it.
 */
import { AUDIT_FORMAT, type AuditEventBody, parseEvent } from "../log/event.ts";
import { type Seal, sealedWorkspace } from "../log/seal.ts";
import { LogVerifier, type VerificationReport } from "../log/verify.ts";
import { readSealFile } from "../seals/seal-file.ts";
import { prunedBefore } from "../state/pruning.ts";
import { Connection } from "../store/connection.ts";
import type { Reader } from "../store/transaction.ts";
import { checkAllAgents, checkOneAgent, type RowCounts, type StoredCheck } from "./agents.ts";
import { Census } from "./census.ts";
import { decodeText, integer, textBytes } from "./columns.ts";
import { feedLog } from "./event-pages.ts";
import { type FileEvent, pagesOfChain, pagesOfLog } from "./log-pages.ts";
import { takePruned } from "./pruned.ts";
import { FOLLOWED } from "./replay.ts";
import { KeyCheck, readKeys, SealFeed } from "./stored-seals.ts";
import { TileCheck } from "./stored-tiles.ts";
import { LogTally, TALLIED } from "./tally.ts";
import { loadTimelines } from "./timelines.ts";

/** What was found, and from where the log has its events: what is before is pruned. */
export interface WorkspaceReport extends VerificationReport {
  prunedBefore: number;
}

/** What is verified: everything, or one agent's chain and what is stored for it. */
export type VerificationScope = { scope: "workspace" } | { agentId: string };

export interface WorkspaceVerificationOptions {
  /**
   * Told after each page how many events were checked and how many there are, as the file says. What
   * it returns is awaited, so that a caller can give way to other work.
   */
  onProgress?: (checked: number, total: number) => void | Promise<void>;
  /** How many keys are followed at once: with more, the log is read several times. Bounds the memory. */
  maxKeys?: number;
  /** The key that seals are to be signed with, 32 raw bytes; null without one. */
  publicKey?: Uint8Array | null;
  /** Seals that were kept elsewhere: those of this workspace must be of this log. */
  anchors?: readonly Seal[];
  /** The workspace's file of seals. */
  sealFile?: AsyncIterable<Uint8Array> | null;
}

/**
 * Verifies a workspace as it is at this moment. On a connection the whole work is one read
 * transaction, so nothing else should be read on it meanwhile.
 *
 * Memory: one head for each agent, a few numbers for each checkpoint of one agent, a page of rows.
 *
 * @throws the driver's error when the file cannot be read
 */
export async function verifyWorkspace(
  reader: Reader,
  scope: VerificationScope,
  options: WorkspaceVerificationOptions = {},
): Promise<WorkspaceReport> {
  return await inOneSnapshot(reader, () =>
    "agentId" in scope ? verifyAgent(reader, scope.agentId, options) : verifyEverything(reader, options),
  );
}

async function inOneSnapshot<T>(reader: Reader, work: () => Promise<T>): Promise<T> {
  if (!(reader instanceof Connection) || reader.inTransaction) return await work();
  reader.exec("BEGIN");
  try {
    return await work();
  } finally {
    reader.exec("ROLLBACK");
  }
}

async function verifyEverything(
  reader: Reader,
  options: WorkspaceVerificationOptions,
): Promise<WorkspaceReport> {
  const head = await readHead(reader);
  const check = await prepare(reader, { scope: "workspace" }, options);
  const { verifier, before, tiles } = check;
  const firstSeq = before > 0 ? before : Number.MIN_SAFE_INTEGER + 1;
  const log = () => pagesOfLog(reader, Number.MAX_SAFE_INTEGER, firstSeq);
  const seals = sealsOf(reader, verifier, head, options);
  await seals.upTo(0);
  if (before > 0) await takePruned({ ...check, seals }, before);
  const total = (head?.seq ?? -1) + 1;
  await feedLog(
    reader,
    verifier,
    { firstSeq, lastSeq: Number.MAX_SAFE_INTEGER },
    {
      before: (lastSeq) => seals.upTo(lastSeq + 1),
      after: async () => {
        await tiles.compare();
        await options.onProgress?.(verifier.eventsChecked, total);
      },
    },
  );
  await seals.upTo();
  await tiles.finish();
  await check.keys.compare(reader, verifier);
  checkHead(verifier, head);
  const met = await checkAllAgents(check);
  await checkNothingLeft(reader, verifier, met);
  if (before === 0) await check.census.compare(verifier, log);
  const report = verifier.finish(head?.workspaceId == null ? {} : { workspaceId: head.workspaceId });
  return { ...report, prunedBefore: before };
}

async function verifyAgent(
  reader: Reader,
  agentId: string,
  options: WorkspaceVerificationOptions,
): Promise<WorkspaceReport> {
  const check = await prepare(reader, { agentId }, options);
  const { verifier, before } = check;
  const total = await reader.get<[number | null]>(
    `SELECT ${integer("head_seq")} FROM agents WHERE agent_id = ?`,
    [agentId],
  );
  const firstSeq = before > 0 ? await lastKept(reader, agentId, before) : undefined;
  const chain = () => pagesOfChain(reader, agentId, Number.MAX_SAFE_INTEGER, firstSeq);
  await feed(verifier, chain(), total?.[0] ?? 0, options);
  await checkOneAgent(check, agentId);
  if (before === 0) await check.census.compare(verifier, chain);
  const head = await readHead(reader);
  const report = verifier.finish(
    head?.workspaceId == null ? { agentId } : { workspaceId: head.workspaceId, agentId },
  );
  return { ...report, prunedBefore: before };
}

/** The last event of a chain that is kept before the position from which there are all. */
async function lastKept(reader: Reader, agentId: string, before: number): Promise<number> {
  const row = await reader.get<[number | null]>(
    "SELECT max(seq) FROM events WHERE agent_id = ? AND seq < ?",
    [agentId, before],
  );
  return row?.[0] ?? before;
}

/** Operations besides `data.write` that are counted, or followed from key to key. */
const COUNTED: ReadonlySet<string> = new Set([...TALLIED, ...FOLLOWED]);

interface Prepared extends StoredCheck {
  keys: KeyCheck;
  tiles: TileCheck;
  /** From where the log has all its events. */
  before: number;
  /** Counts an event without following it. */
  observe(event: AuditEventBody, details: string | null): void;
}

async function prepare(
  reader: Reader,
  scope: VerificationScope,
  { maxKeys, publicKey = null }: WorkspaceVerificationOptions,
): Promise<Prepared> {
  const tally = new LogTally();
  const before = await prunedBefore(reader);
  tally.partial = before > 0;
  const census = new Census(await loadTimelines(reader, scope), maxKeys);
  const keys = new KeyCheck();
  const offered = (await readKeys(reader)).flatMap(({ key }) => (key === null ? [] : [key.publicKey]));
  const verifier: LogVerifier = new LogVerifier({
    scope: "agentId" in scope ? "agent" : "workspace",
    start: "agentId" in scope && before > 0 ? "anywhere" : "beginning",
    ...("agentId" in scope ? {} : { seals: { trusted: publicKey, offered } }),
    onEvent: (event, details) => {
      keys.add(event, details);
      tally.add(event, details);
      census.replay.add(event, details);
    },
    onAccepted: (accepted, text) => {
      const { operation, result } = accepted.shape.event;
      if (operation === "data.write") {
        if (result === "allowed") census.replay.addWrite(accepted, text);
        return;
      }
      if (!COUNTED.has(operation)) return;
      const event = parseEvent(text.text(accepted.start, accepted.end));
      const details = text.text(accepted.detailsAt, accepted.detailsEnd);
      keys.add(event, details);
      tally.add(event, details);
      census.replay.add(event, details);
    },
    onTile: (tile, hashes, root) => tiles.add(tile, hashes, root),
  });
  const tiles = new TileCheck(reader, verifier);
  const observe = (event: AuditEventBody, details: string | null) => {
    keys.add(event, details);
    tally.add(event, details);
  };
  return { reader, verifier, tally, census, keys, tiles, before, observe };
}

/** The seals that the events are compared with. */
function sealsOf(
  reader: Reader,
  verifier: LogVerifier,
  head: Head | null,
  { anchors = [], sealFile }: WorkspaceVerificationOptions,
): SealFeed {
  for (const anchor of anchors) if (sealedWorkspace(anchor) === head?.workspaceId) verifier.anchor(anchor);
  return new SealFeed(reader, verifier, sealFile ? readSealFile(sealFile) : null);
}

async function feed(
  verifier: LogVerifier,
  pages: AsyncGenerator<FileEvent[]>,
  total: number,
  { onProgress }: Pick<WorkspaceVerificationOptions, "onProgress">,
): Promise<void> {
  for await (const page of pages) {
    verifier.add(page);
    for (const { typed, seq } of page) {
      if (!typed) verifier.report("row_mismatch", null, seq, "an event has a column that is not of its type");
    }
    await onProgress?.(verifier.eventsChecked, total);
  }
}

/** The head of the log as its row says; null without a row. Members are null when out of type. */
interface Head {
  workspaceId: string | null;
  format: string | null;
  seq: number | null;
  hash: string | null;
  rows: number;
}

async function readHead(reader: Reader): Promise<Head | null> {
  const row = await reader.get<[Buffer | null, Buffer | null, number | null, Buffer | null, number]>(
    `SELECT ${textBytes("workspace_id")}, ${textBytes("format")}, ${integer("seq")}, ${textBytes("hash")},
       (SELECT count(*) FROM head) FROM head WHERE one = 1`,
  );
  if (row === undefined) return null;
  const [workspaceId, format, seq, hash, rows] = row;
  return {
    workspaceId: decodeText(workspaceId),
    format: decodeText(format),
    seq,
    hash: decodeText(hash),
    rows,
  };
}

/** The head's row against the last event of the log. */
function checkHead(verifier: LogVerifier, head: Head | null): void {
  let last: { seq: number; hash: string } | null = null;
  for (const { last: end } of verifier.chains.values()) {
    if (last === null || end.event.seq > last.seq) last = { seq: end.event.seq, hash: end.hash };
  }
  const message = headProblem(head, last);
  if (message !== null) verifier.report("head_mismatch", null, last?.seq ?? null, message);
}

function headProblem(head: Head | null, last: { seq: number; hash: string } | null): string | null {
  if (head === null && last === null) return null; // nothing at all: there is nothing to compare
  if (head === null) return "the row that names the end of the log is gone";
  if (head.rows !== 1) return "there is more than one row that names the end of the log";
  if (head.workspaceId === null) return "the row that names the end of the log names no workspace";
  if (head.format !== AUDIT_FORMAT) return "the row that names the end of the log names another format";
  if (last === null) return "the log is empty";
  const agrees = head.seq === last.seq && head.hash === last.hash;
  return agrees ? null : "the log does not end with the event that the file says it ends with";
}

/** Rows that stand under no agent were met by no check. */
async function checkNothingLeft(reader: Reader, verifier: LogVerifier, met: RowCounts): Promise<void> {
  for (const table of ["configs", "checkpoints", "entries"] as const) {
    const row = await reader.get<[number]>(`SELECT count(*) FROM ${table}`);
    const left = (row?.[0] ?? 0) - met[table];
    if (left === 0) continue;
    verifier.report(
      "content_orphan",
      null,
      null,
      `${left} rows of ${table} belong to no agent of this workspace`,
    );
  }
}
