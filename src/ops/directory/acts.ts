/**
 * Acts on members, invitations, keys and workspaces. An act changes the control database, and an event in the log of
 * its workspace records it. No transaction spans both files, so an act has three steps:
 *
 * 1. It is decided, and stored as pending in the same transaction. An act can be refused only here. 2. Its event is
 * recorded, under an id with the random part that the pending act names. 3. Its changes are applied and it is no longer pending, in one
 * transaction.
 *
 * Only one act at a time is between these steps, in all processes on a data directory, so step 3 finds the state on
 * which step 1 decided. An act whose process died is settled before the next act on the same workspace, and when the
 * daemon starts: it is finished if its event is in the log, and dropped otherwise. So the log has an event exactly when
 * the control database has its effect.
 *
 * An act on accounts belongs to no workspace, so its event is in the log of the installation. An act on a workspace can
 * have a second event there, its trace, which is recorded between steps 2 and 3.
 */

import type { Via, WorkspaceEvent } from "../../core/writer/contract.ts";
import { isStorageFailure, Unreachable } from "../../core/writer/storage-failure.ts";
import { Failure } from "../../failure.ts";
import type { Clock, IdSource } from "../../ids.ts";
import type { Connection } from "../../store/connection.ts";
import { applyChanges, type Change } from "./changes.ts";
import type { ControlDatabase } from "./database.ts";
import type { NewWorkspace, WorkspaceJournal } from "./journal.ts";
import { changedOne, Table } from "./table.ts";
import { findInstallation, installationRecord } from "./workspaces.ts";

interface SettleParts {
  control: ControlDatabase;
  journal: WorkspaceJournal;
}

export interface ActParts extends SettleParts {
  ids: IdSource;
  clock: Clock;
  /** The origin of the request, for the details of its events. */
  via?: Via;
}

/** Stands for a workspace's id when an act belongs to the log of the installation. */
export const INSTALLATION = Symbol("installation");

type Place = string | typeof INSTALLATION;

/** An act that was decided. The caller of {@link act} gets `T` and `A`. */
export interface Decision<T, A = unknown> {
  event: Omit<WorkspaceEvent, "id">;
  /** The second event of an act on a workspace, in the log of the installation. */
  trace?: Omit<WorkspaceEvent, "id">;
  changes: readonly Change[];
  /** The workspace that the act creates. */
  genesis?: NewWorkspace;
  result?: T;
  /** Runs in the transaction that applies the changes, but not after a crash. */
  also?: (connection: Connection) => A;
}

/** The act changes nothing, so nothing is recorded. */
interface Unchanged<T> {
  event: null;
  result?: T;
}

/** Decides on an act. `workspaceId` names the log that will record it. */
type Decide<T, A> = (workspaceId: string) => Decision<T, A> | Unchanged<T>;

/** The id of the event that recorded an act; null when nothing was recorded. */
export type Recorded<Id extends string | null = string> = { auditId: Id };

/** An event of an act, and the log that records it, which `genesis` creates. */
interface Entry {
  workspaceId: string;
  event: WorkspaceEvent & { id: string; trace?: Entry };
  genesis: NewWorkspace | null;
}

interface Pending extends Entry {
  changes: readonly Change[];
}

const PENDING = new Table<Pending>("pending_acts", {
  workspaceId: "workspace_id",
  event: { column: "event", as: "json" },
  genesis: { column: "genesis", as: "json" },
  changes: { column: "changes", as: "json" },
});

/**
 * Performs the act that `decide` returns. `decide` runs in a transaction of the control database, in which it must not
 * write. No other act happens between it and the changes. When it throws, nothing was recorded and nothing changed.
 * @throws {Failure} `busy` when the event could not be recorded, or other acts took too long, and nothing was changed;
 * `outcome_unknown` when the disk failed during the act
 */
export function act<T, A>(
  parts: ActParts,
  place: Place,
  decide: (workspaceId: string) => Decision<T, A>,
): Promise<T & A & Recorded>;
export function act<T, A>(parts: ActParts, place: Place, decide: Decide<T, A>): Promise<T & Recorded<string | null>>;
export function act(parts: ActParts, place: Place, decide: Decide<object, object>): Promise<Recorded<string | null>> {
  const { control } = parts;
  return control.alone(async () => {
    // An act on another workspace whose log cannot be read stays pending.
    await settleAll(parts, (workspaceId, error) => {
      if (workspaceId === (place === INSTALLATION ? findInstallation(control.connection)?.id : place)) throw error;
    });
    const { pending, result, also } = await control.transaction((connection) => {
      const decision = decided(parts, place, decide);
      if (decision.pending === null) return decision;
      // Another process has begun an act on the workspace while this one was suspended and lost its turn.
      if (isPending(connection, decision.pending.workspaceId)) throw unsettled();
      PENDING.insert(connection, decision.pending);
      return decision;
    });
    if (pending === null) return { ...result, auditId: null };
    const auditId = await record(parts, pending);
    try {
      return { ...result, ...(await finish(parts, pending, also)), auditId };
    } catch (error) {
      throw isStorageFailure(error) ? new Failure("outcome_unknown", RECORDED_ONLY, { cause: error }) : error;
    }
  });
}

/**
 * Records an event in the log of the installation. It changes nothing in the control database.
 * @throws {Failure} `busy` when the event could not be recorded
 */
export async function recordInInstallation(parts: ActParts, event: Omit<WorkspaceEvent, "id">): Promise<Recorded> {
  const log = findInstallation(parts.control.connection);
  if (log === undefined) return await act(parts, INSTALLATION, () => ({ event, changes: [] }));
  return { auditId: await parts.journal.record(log.id, event) };
}

/** Returns the log of the installation, or a new one that the act will create with its first event. */
function installationLog({ ids, clock, control }: ActParts): Pick<Pending, "workspaceId" | "genesis" | "changes"> {
  const known = findInstallation(control.connection);
  if (known !== undefined) return { workspaceId: known.id, genesis: null, changes: [] };
  const log = installationRecord(ids.next("ws"), clock());
  const { id, name, createdBy: actor } = log;
  return { workspaceId: id, genesis: { id, name, actor }, changes: [["addWorkspace", log]] };
}

const RECORDED_ONLY =
  "It was recorded, and the disk failed before it took effect: that happens with the next change, or when the daemon starts again. Look before you repeat it.";

/** Decides on an act. Returns the pending act to store, which is null for an act that changes nothing. */
function decided(parts: ActParts, place: Place, decide: Decide<object, object>) {
  const own = place === INSTALLATION ? installationLog(parts) : null;
  const workspaceId = own?.workspaceId ?? (place as string);
  const decision = decide(workspaceId);
  if (decision.event === null) return { result: decision.result, also: undefined, pending: null };
  const { genesis = null } = decision;
  const event = saying(decision.event, parts.via);
  const trace = decision.trace && saying(decision.trace, parts.via);
  const also = trace === undefined ? null : installationLog(parts);
  const id = () => parts.ids.event(0);
  const pending: Pending = {
    workspaceId,
    event: { ...event, id: id() },
    genesis: own?.genesis ?? genesis,
    changes: [...(own?.changes ?? []), ...(also?.changes ?? []), ...decision.changes],
  };
  if (also !== null && trace !== undefined) {
    pending.event.trace = { workspaceId: also.workspaceId, event: { ...trace, id: id() }, genesis: also.genesis };
  }
  return { ...decision, pending };
}

const saying = <E extends Omit<WorkspaceEvent, "id">>(event: E, via: Via | undefined): E =>
  via === undefined ? event : { ...event, details: { ...event.details, ...via } };

/**
 * Settles the acts of processes that died. `onError` is called with each workspace whose log cannot be read: its act
 * stays pending, and no other act on it is accepted until it is settled.
 */
export const settleActs = (parts: SettleParts, onError: (workspaceId: string, error: unknown) => void): Promise<void> =>
  parts.control.alone(() => settleAll(parts, onError));

async function settleAll(parts: SettleParts, onError: (workspaceId: string, error: unknown) => void): Promise<void> {
  for (const pending of PENDING.list(parts.control.connection)) {
    try {
      // An act is finished when its event was recorded, and dropped otherwise.
      if ((await findEvent(parts.journal, pending)) !== null) await finish(parts, pending);
      else await drop(parts, pending);
    } catch (error) {
      onError(pending.workspaceId, error);
    }
  }
}

/**
 * Records the event of an act. Returns its id. If that fails, drops the act, unless the event is in the log all the same. If the event
 * may still appear, the act stays pending, and is settled later.
 */
async function record(parts: SettleParts, pending: Pending): Promise<string> {
  try {
    return await append(parts.journal, pending);
  } catch (error) {
    const recorded = await findEvent(parts.journal, pending);
    if (recorded !== null) return recorded;
    if (!(error instanceof Failure && error.code === "outcome_unknown")) await drop(parts, pending);
    throw error;
  }
}

function append(journal: WorkspaceJournal, { workspaceId, event: { trace: _, ...event }, genesis }: Entry) {
  return genesis === null ? journal.record(workspaceId, event) : journal.create(genesis, event);
}

/** Records the trace of an act whose event is recorded. @throws {Failure} `busy` when it cannot be recorded now */
async function trace(journal: WorkspaceJournal, entry: Entry): Promise<void> {
  try {
    if ((await findEvent(journal, entry)) !== null) return;
    // The new log of a process that died before it recorded this first event is not used by anybody.
    if (entry.genesis !== null) await journal.discard(entry.workspaceId);
    await append(journal, entry);
  } catch (error) {
    throw unsettled(error);
  }
}

/**
 * Returns the id of an act's event; null when the log does not have it.
 * @throws {Failure} `busy` when that cannot be decided; {Unreachable}
 */
async function findEvent(journal: WorkspaceJournal, { workspaceId, event, genesis }: Entry): Promise<string | null> {
  try {
    const found = await journal.find(workspaceId, event.id);
    if (found !== undefined || genesis !== null) return found ?? null;
  } catch (error) {
    throw unsettled(error);
  }
  throw unsettled();
}

/**
 * Drops an act that was not recorded. Nobody uses a workspace that it would have created. The process that began the
 * act may only be suspended, and continue later, so the log refuses its event from now on, and is then searched for it
 * once more.
 */
async function drop(parts: SettleParts, pending: Pending): Promise<void> {
  const { control, journal } = parts;
  if (pending.genesis !== null) await journal.discard(pending.workspaceId);
  else {
    await journal.refuse(pending.workspaceId, pending.event.id);
    if ((await findEvent(journal, pending)) !== null) return void (await finish(parts, pending));
  }
  await control.transaction((connection) => deletePending(connection, pending));
}

/** Returns why an act could not be settled. An unreachable server does not mean that the log is damaged. */
const unsettled = (cause?: unknown): unknown =>
  cause instanceof Unreachable
    ? cause
    : new Failure(
        "busy",
        "The log of the workspace or of the installation cannot be used, so an unfinished change of accounts, members or keys can be neither finished nor dropped. `governd verify` says what is wrong with the log.",
        { cause },
      );

/**
 * Records the trace of an act whose event is recorded, and applies its changes, unless another process did so while
 * this one was suspended. Returns what `also` returns.
 */
async function finish({ control, journal }: SettleParts, pending: Pending, also?: (connection: Connection) => object) {
  if (pending.event.trace !== undefined) await trace(journal, pending.event.trace);
  return control.change((connection) => {
    if (deletePending(connection, pending)) applyChanges(connection, pending.changes);
    return also?.(connection);
  });
}

const isPending = (connection: Connection, workspaceId: string): boolean =>
  connection.value("SELECT 1 FROM pending_acts WHERE workspace_id = ?", [workspaceId]) !== undefined;

/** Deletes a pending act. Reports whether it was still pending. */
const deletePending = (connection: Connection, { workspaceId, event }: Pending): boolean =>
  changedOne(connection, "DELETE FROM pending_acts WHERE workspace_id = ? AND event ->> '$.id' = ?", [
    workspaceId,
    event.id,
  ]);
