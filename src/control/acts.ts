/**
 * Acts on members, invitations, keys and workspaces. An act changes the control database, and an event in the log of its
 * workspace records it. No transaction spans both files, so an act has three steps:
 *
 * 1. It is decided, and stored as pending in the same transaction. What is refused is refused here.
 * 2. Its event is recorded, under an id that the pending act names.
 * 3. Its changes are applied and it is no longer pending, in one transaction.
 *
 * Only one act at a time is between these steps, in all processes on a data directory, so step 3 finds what step 1
 * decided upon. An act whose process died is settled before the next act on the same workspace and when the daemon
 * starts: it is finished when its event is in the log, and dropped otherwise. So the log has an event exactly when the
 * control database has its effect.
 */
import { Failure } from "../failure.ts";
import type { IdSource } from "../ids.ts";
import type { Connection } from "../store/connection.ts";
import type { WorkspaceEvent } from "../workspace/contract.ts";
import { applyChanges, type Change } from "./changes.ts";
import type { ControlDatabase } from "./database.ts";
import type { NewWorkspace, WorkspaceJournal } from "./journal.ts";
import { changedOne } from "./table.ts";

/** What settling an act needs. */
interface SettleParts {
  control: ControlDatabase;
  journal: WorkspaceJournal;
}

/** What acts need. */
export interface ActParts extends SettleParts {
  ids: IdSource;
}

/** An act that may happen. */
export interface Decision<T> {
  event: Omit<WorkspaceEvent, "id">;
  changes: readonly Change[];
  /** The workspace that the act creates. */
  genesis?: NewWorkspace;
  /** What the caller of {@link act} gets. */
  result: T;
  /** Runs in the transaction that applies the changes, but not after a crash. */
  also?: (connection: Connection) => void;
}

/** The act changes nothing, so nothing is recorded. */
export interface Unchanged<T> {
  event: null;
  result: T;
}

/** Returns a time, milliseconds since the Unix epoch, as events state it. */
export const rfc3339 = (ms: number): string => new Date(ms).toISOString();

/** The id of the event that recorded an act. */
type Recorded = { auditId: string };

interface Pending {
  workspaceId: string;
  event: WorkspaceEvent & { id: string };
  genesis: NewWorkspace | null;
  changes: readonly Change[];
}

/**
 * Does what `decide` decides. `decide` runs in a transaction of the control database, and no other act can happen
 * between it and the changes. It must not write. When it throws, nothing was recorded and nothing changed.
 * @throws {Failure} `busy` when the event could not be recorded, or other acts took too long. Nothing was changed then.
 */
export function act<T>(parts: ActParts, workspaceId: string, decide: () => Decision<T>): Promise<T & Recorded>;
export function act<T>(
  parts: ActParts,
  workspaceId: string,
  decide: () => Decision<T> | Unchanged<T>,
): Promise<T & { auditId: string | null }>;
export function act<T>(
  parts: ActParts,
  workspaceId: string,
  decide: () => Decision<T> | Unchanged<T>,
): Promise<T & { auditId: string | null }> {
  const { control, ids } = parts;
  return control.alone(async () => {
    const left = findPending(control.connection, workspaceId);
    if (left !== undefined) await settle(parts, left);
    const decided = control.transaction((connection) => {
      const decision = decide();
      if (decision.event === null) return { ...decision, pending: null };
      const { event, genesis = null, changes } = decision;
      const pending = { workspaceId, event: { ...event, id: ids.next("aud") }, genesis, changes };
      insertPending(connection, pending);
      return { ...decision, pending };
    });
    if (decided.pending === null) return { ...decided.result, auditId: null };
    await record(parts, decided.pending);
    finish(control, decided.pending, decided.also);
    return { ...decided.result, auditId: decided.pending.event.id };
  });
}

/**
 * Settles what processes that died left. `onError` is called with each workspace whose log cannot be read: its acts stay
 * pending, and no other act on it is accepted before.
 */
export function settleActs(parts: SettleParts, onError: (workspaceId: string, error: unknown) => void): Promise<void> {
  return parts.control.alone(async () => {
    for (const pending of listPending(parts.control.connection)) {
      try {
        await settle(parts, pending);
      } catch (error) {
        onError(pending.workspaceId, error);
      }
    }
  });
}

/** Records the event of an act. When that fails, the act is dropped, unless the event is in the log all the same. */
async function record(parts: SettleParts, pending: Pending): Promise<void> {
  const { workspaceId, event, genesis } = pending;
  try {
    if (genesis === null) await parts.journal.record(workspaceId, event);
    else await parts.journal.create(genesis, event);
  } catch (error) {
    if (await isRecorded(parts.journal, pending)) return;
    drop(parts, pending);
    throw error;
  }
}

/** Finishes or drops an act whose process died. @throws {Failure} `busy` when its event cannot be looked up */
async function settle(parts: SettleParts, pending: Pending): Promise<void> {
  if (await isRecorded(parts.journal, pending)) finish(parts.control, pending);
  else drop(parts, pending);
}

/** Reports whether the log holds the event of an act. @throws {Failure} `busy` when that cannot be told */
async function isRecorded(journal: WorkspaceJournal, { workspaceId, event, genesis }: Pending): Promise<boolean> {
  try {
    const found = await journal.holds(workspaceId, event.id);
    if (found !== null || genesis !== null) return found === true;
  } catch (error) {
    throw unsettled(error);
  }
  throw unsettled();
}

/** Drops an act that was not recorded. Of a workspace that it would have created, nobody knows. */
function drop({ control, journal }: SettleParts, pending: Pending): void {
  if (pending.genesis !== null) journal.discard(pending.workspaceId);
  control.transaction((connection) => deletePending(connection, pending));
}

const unsettled = (cause?: unknown): Failure =>
  new Failure(
    "busy",
    "The workspace's log cannot be read, so an unfinished change of its members or keys can be neither finished nor dropped. `governd verify` says what is wrong with the log.",
    { cause },
  );

function finish(control: ControlDatabase, pending: Pending, also?: (connection: Connection) => void): void {
  control.change((connection) => {
    applyChanges(connection, pending.changes);
    deletePending(connection, pending);
    also?.(connection);
  });
}

function insertPending(connection: Connection, { workspaceId, event, genesis, changes }: Pending): void {
  connection.run("INSERT INTO pending_acts (workspace_id, event, genesis, changes) VALUES (?, ?, ?, ?)", [
    workspaceId,
    JSON.stringify(event),
    genesis && JSON.stringify(genesis),
    JSON.stringify(changes),
  ]);
}

function deletePending(connection: Connection, { workspaceId }: Pending): void {
  if (!changedOne(connection, "DELETE FROM pending_acts WHERE workspace_id = ?", [workspaceId])) {
    throw new Error("an act was settled twice");
  }
}

type PendingRow = readonly [workspaceId: string, event: string, genesis: string | null, changes: string];

const PENDING = "SELECT workspace_id, event, genesis, changes FROM pending_acts";

function pendingOf([workspaceId, event, genesis, changes]: PendingRow): Pending {
  return {
    workspaceId,
    event: JSON.parse(event),
    genesis: genesis === null ? null : JSON.parse(genesis),
    changes: JSON.parse(changes),
  };
}

function findPending(connection: Connection, workspaceId: string): Pending | undefined {
  const row = connection.get<PendingRow>(`${PENDING} WHERE workspace_id = ?`, [workspaceId]);
  return row && pendingOf(row);
}

const listPending = (connection: Connection): Pending[] => connection.all<PendingRow>(PENDING).map(pendingOf);
