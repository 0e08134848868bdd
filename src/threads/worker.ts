/**
 * A workspace thread: it owns the workspaces that are assigned to it, and runs their operations one
 * after another. All operations of one message on one workspace share a transaction and its fsync.
 */
import { join } from "node:path";
import { parentPort, workerData } from "node:worker_threads";
import { systemClock } from "../ids.ts";
import type { Connection } from "../store/connection.ts";
import { openWorkspaceFile } from "../workspace/file.ts";
import { DamagedWorkspace, type Job, type Settled, WorkspaceWriter } from "../workspace/perform.ts";
import { sweepWorkspace } from "../workspace/sweep.ts";
import {
  type FromWriter,
  type OperationMessage,
  type ReplyMessage,
  reportFailure,
  type ThreadOptions,
  type ToWriter,
} from "./messages.ts";
import { OpenWorkspaces } from "./open-workspaces.ts";
import { operationOf } from "./registry.ts";

/** Workspaces that one thread keeps open, and how long an idle one stays so. */
const MAX_OPEN = 128;
const IDLE_MS = 60_000;
/** How often idle workspaces are closed and open ones swept for expired entries. */
const UPKEEP_INTERVAL_MS = 30_000;

const UNREADABLE =
  "The workspace's file cannot be opened; nothing was changed. The server's log names it; `governd verify` examines it.";

const { workspacesDir, clockOffsetMs } = workerData as ThreadOptions;
const clock = () => systemClock() + clockOffsetMs;

const post = (message: FromWriter): void => parentPort?.postMessage(JSON.stringify(message));

interface Open {
  connection: Connection;
  writer: WorkspaceWriter;
  close(): void;
}

const workspaces = new OpenWorkspaces<Open>(openWorkspace, { maxOpen: MAX_OPEN, idleMs: IDLE_MS });

function openWorkspace(workspaceId: string): Open {
  const connection = openWorkspaceFile(join(workspacesDir, `${workspaceId}.db`));
  const onFailure = (operation: string, error: unknown) =>
    post({ kind: "failure", failure: reportFailure(`${operation} in ${workspaceId}`, error) });
  try {
    const writer = new WorkspaceWriter(connection, { clock, onFailure });
    // A file under another workspace's name would take that one's events into its own log.
    if (writer.workspaceId !== workspaceId) throw new DamagedWorkspace("the file holds another workspace");
    return { connection, writer, close: () => writer.close() };
  } catch (error) {
    connection.close();
    throw error;
  }
}

/** Messages are handled one at a time: a workspace never sees two groups at once. */
let turn: Promise<void> = Promise.resolve();

parentPort?.on("message", (text: string) => {
  const message = JSON.parse(text) as ToWriter;
  turn = turn
    .then(() => handle(message))
    .catch((error) => {
      post({ kind: "failure", failure: reportFailure(message.kind, error) });
    });
});

async function handle(message: ToWriter): Promise<void> {
  switch (message.kind) {
    case "operations":
      return runOperations(message.operations);
    case "sweep":
      return sweep(message.workspaceIds);
    case "close":
      return shutDown();
  }
}

async function runOperations(operations: readonly OperationMessage[]): Promise<void> {
  for (const [workspaceId, group] of Map.groupBy(operations, (operation) => operation.workspaceId)) {
    const settled = await runGroup(workspaceId, group);
    const replies = settled.map(
      (one, i): ReplyMessage => ({ id: (group[i] as OperationMessage).id, ...one }),
    );
    post({ kind: "replies", replies });
  }
}

async function runGroup(workspaceId: string, group: readonly OperationMessage[]): Promise<Settled[]> {
  let open: Open;
  try {
    open = workspaces.use(workspaceId, clock());
  } catch (error) {
    post({ kind: "failure", failure: reportFailure(`opening ${workspaceId}`, error) });
    return group.map(() => ({
      answer: { kind: "problem", code: "unavailable", detail: UNREADABLE },
      auditId: null,
    }));
  }
  return open.writer.perform(group.map(toJob));
}

function toJob({ name, input, principal, found }: OperationMessage): Job {
  const operation = operationOf(name, found);
  return { operation: name, principal, run: (tx, context) => operation(tx, context, input) };
}

async function sweep(workspaceIds: readonly string[]): Promise<void> {
  for (const workspaceId of workspaceIds) {
    try {
      const { connection, writer } = workspaces.use(workspaceId, clock());
      await sweepWorkspace(connection, writer);
    } catch (error) {
      post({ kind: "failure", failure: reportFailure(`sweeping ${workspaceId}`, error) });
    }
  }
}

const upkeep = setInterval(() => {
  turn = turn.then(() => {
    workspaces.closeIdle(clock());
  });
}, UPKEEP_INTERVAL_MS);

function shutDown(): void {
  clearInterval(upkeep);
  workspaces.closeAll();
  post({ kind: "closed" });
  parentPort?.close();
}

post({ kind: "ready" });
