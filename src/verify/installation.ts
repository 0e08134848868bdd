/** What a log says of workspaces and of restores. The log itself is verified elsewhere. */
import { headsRecordedMs, readHeads } from "../core/heads/stored.ts";
import type { WorkspaceHead } from "../core/heads/tree.ts";
import { GENESIS, SYSTEM, textOf } from "../log/event.ts";
import { eventHash } from "../log/hash.ts";
import { type DeclaredRestore, declaredRestore } from "../log/restores.ts";
import { LOG_RESTORE } from "../log/seal.ts";
import { type EventName, MAKING } from "../operations.ts";
import type { Reader } from "../store/transaction.ts";
import { eventColumn, readNamedEvent } from "./rows/events-named.ts";
import { readHead } from "./rows/head.ts";

/** Selects the operations that {@link isMaking} takes. */
export const FIRST_OPERATIONS = `SELECT operation FROM events ORDER BY seq LIMIT ${MAKING.length + 1}`;

/** Whether a log has nothing but the making of its workspace, or less, so that nobody ever had its key. */
export const isMaking = (operations: readonly string[]): boolean =>
  new Set(operations).size === operations.length && operations.every((one) => MAKING.includes(one));

/** What a log says besides of its own rows. */
export interface LogFacts {
  workspaceId: string;
  /** Whether there is nothing but the making of the workspace. */
  isMaking: boolean;
  /** When the first event was recorded, RFC 3339, and its hash, hex; empty when there is none. */
  madeAt: string;
  genesis: string;
  restores: readonly DeclaredRestore[];
  /** What the log of the installation says of all workspaces; null for the log of a workspace. */
  workspaces: KnownWorkspaces | null;
}

/** What the log of the installation says of all workspaces. */
interface KnownWorkspaces {
  /** The hashes of the first events of workspaces, by their ids; without deleted workspaces. */
  made: ReadonlyMap<string, string>;
  deleted: ReadonlySet<string>;
  /** The recorded heads, and when they were recorded, ms since the Unix epoch. */
  heads: ReadonlyMap<string, WorkspaceHead>;
  recordedMs: number;
  /** When the newest event was recorded, RFC 3339. */
  newestAt: string;
}

const ADDED = "installation.add_workspace" satisfies EventName;
const DELETED = "installation.delete_workspace" satisfies EventName;
const NAMES = [GENESIS, LOG_RESTORE, ADDED, DELETED];

/** Reads the facts of a log. Returns null when the file does not name its workspace. */
export async function readLogFacts(reader: Reader): Promise<LogFacts | null> {
  const head = await readHead(reader);
  if (head?.workspaceId == null || head.seq === null) return null;
  const rows = await reader.all<[Buffer]>(
    `SELECT ${eventColumn("e")} FROM events e
     WHERE e.agent_id IS NULL AND e.operation IN (${NAMES.map(() => "?").join(", ")}) ORDER BY e.seq`,
    NAMES,
  );
  const named = rows.flatMap(([column]) => readNamedEvent(column) ?? []);
  const first = named[0]?.event;
  const genesis = first?.seq === 0 ? eventHash(textOf(first)) : "";
  const made = new Map<string, string>();
  const deleted = new Set<string>();
  for (const { event, details } of named) {
    const { for_workspace_id: id, genesis: hash } = details ?? {};
    if (event.result !== "ok" || typeof id !== "string") continue;
    if (event.operation === ADDED) made.set(id, String(hash));
    else if (event.operation === DELETED) deleted.add(id);
  }
  for (const id of deleted) made.delete(id);
  const isInstallation = first?.operation === GENESIS && first.actor === SYSTEM;
  const operations = (await reader.all<[string]>(FIRST_OPERATIONS)).flat();
  return {
    ...{ workspaceId: head.workspaceId, isMaking: isMaking(operations), madeAt: first?.timestamp ?? "", genesis },
    restores: named.flatMap(({ event, details }) => declaredRestore(event, details) ?? []),
    workspaces: isInstallation ? await knownWorkspaces(reader, made, deleted) : null,
  };
}

async function knownWorkspaces(
  reader: Reader,
  made: ReadonlyMap<string, string>,
  deleted: ReadonlySet<string>,
): Promise<KnownWorkspaces> {
  const newestAt = (await reader.value<string>("SELECT timestamp FROM events ORDER BY seq DESC LIMIT 1")) ?? "";
  return { made, deleted, heads: await readHeads(reader), recordedMs: await headsRecordedMs(reader), newestAt };
}
