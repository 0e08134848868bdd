/**
 * A workspace thread: it owns the workspaces that are assigned to it, and runs their operations one
 * after another. All operations of one message on one workspace share a transaction and its fsync.
 */
import { join } from "node:path";
import { parentPort, workerData } from "node:worker_threads";
import { systemClock } from "../ids.ts";
import { SealKeyring } from "../seals/keyring.ts";
import { sealFilePath } from "../seals/options.ts";
import { SealSchedule } from "../seals/schedule.ts";
import { WorkspaceSealer } from "../seals/sealer.ts";
import { embedderOf } from "../search/embedding-options.ts";
import type { Connection } from "../store/connection.ts";
import { openWorkspaceFile } from "../workspace/file.ts";
import { type Job, type Settled, WorkspaceWriter } from "../workspace/perform.ts";
import { recordingJob } from "../workspace/recording.ts";
import { DamagedWorkspace } from "../workspace/storage-failure.ts";
import { expiryBefore, sweepWorkspace } from "../workspace/sweep.ts";
import { EmbeddingUpkeep } from "./embedding-upkeep.ts";
import { FullTextUpkeep } from "./full-text-upkeep.ts";
import {
  type EventMessage,
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

/** A workspace that could not be sealed is tried again after this long. */
const SEAL_RETRY_MS = 60_000;
/** What sealing may take of the time that a stop has. What is left is sealed at the next start. */
const LAST_SEALS_MS = 4_000;

const { workspacesDir, clockOffsetMs, embeddings, sealing } = workerData as ThreadOptions;
const clock = () => systemClock() + clockOffsetMs;

const post = (message: FromWriter): void => parentPort?.postMessage(JSON.stringify(message));

interface Open {
  connection: Connection;
  writer: WorkspaceWriter;
  /** Resolves when its seals are taken up; nothing is done with it before. */
  ready: Promise<void>;
  close(): void;
}

const workspaces = new OpenWorkspaces<Open>(openWorkspace, { maxOpen: MAX_OPEN, idleMs: IDLE_MS });

function openWorkspace(workspaceId: string): Open {
  const connection = openWorkspaceFile(join(workspacesDir, `${workspaceId}.db`));
  const onFailure = (operation: string, error: unknown) =>
    post({ kind: "failure", failure: reportFailure(`${operation} in ${workspaceId}`, error) });
  const sealer = new WorkspaceSealer({
    keyring,
    file: sealFilePath(sealing, workspaceId),
    onSealed: (seal) => post({ kind: "sealed", workspaceId, seal }),
  });
  try {
    const writer = new WorkspaceWriter(connection, { clock, onFailure, sealer });
    // A file under another workspace's name would take that one's events into its own log.
    if (writer.workspaceId !== workspaceId) throw new DamagedWorkspace("the file holds another workspace");
    const ready = sealer.load(connection).catch((error) => onFailure("file of seals", error));
    embedding?.note(workspaceId);
    void upkeepFullText.opened(workspaceId, connection).catch((error) => onFailure("full text", error));
    return { connection, writer, ready, close: () => writer.close() };
  } catch (error) {
    connection.close();
    throw error;
  }
}

/** Full text is taken further between groups of operations, a step at a time. */
const upkeepFullText = new FullTextUpkeep((workspaceId, work) => {
  turn = turn
    .then(async () => (await useWorkspace(workspaceId)).writer.derive(work))
    .catch((error) => {
      upkeepFullText.failed(workspaceId);
      post({ kind: "failure", failure: reportFailure(`full text of ${workspaceId}`, error) });
    });
});

/** Vectors by a model outside; null without one. */
const embedding =
  embeddings === null
    ? null
    : new EmbeddingUpkeep({
        embedder: embedderOf(embeddings),
        run: (workspaceId, work) => {
          const done = turn.then(async () => (await useWorkspace(workspaceId)).writer.derive(work));
          turn = done.then(
            () => {},
            () => {},
          );
          return done;
        },
        onFailure: (workspaceId, error) =>
          post({ kind: "failure", failure: reportFailure(`vectors of ${workspaceId}`, error) }),
      });

const keyring = new SealKeyring(sealing.key);
const schedule = new SealSchedule(sealing.intervalMs, () => {
  turn = turn.then(() => sealAll(schedule.takeDue(clock())));
});

/** The open workspace. @throws whatever opening throws */
async function useWorkspace(workspaceId: string): Promise<Open> {
  const open = workspaces.use(workspaceId, clock());
  await open.ready;
  return open;
}

/** Seals workspaces one after another, until a moment if one is given. */
async function sealAll(workspaceIds: readonly string[], untilMs = Number.POSITIVE_INFINITY): Promise<void> {
  for (const workspaceId of workspaceIds) {
    if (clock() > untilMs) return;
    try {
      await (await useWorkspace(workspaceId)).writer.seal();
      schedule.remove(workspaceId);
    } catch (error) {
      schedule.note(workspaceId, clock(), SEAL_RETRY_MS);
      post({ kind: "failure", failure: reportFailure(`sealing ${workspaceId}`, error) });
    }
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
    case "cosigned":
      return (await useWorkspace(message.workspaceId)).writer.addCosignatures(message.size, message.note);
    case "close":
      return shutDown();
  }
}

type Message = OperationMessage | EventMessage;

async function runOperations(operations: readonly Message[]): Promise<void> {
  for (const [workspaceId, group] of Map.groupBy(operations, (operation) => operation.workspaceId)) {
    const settled = await runGroup(workspaceId, group);
    const replies = settled.map((one, i): ReplyMessage => ({ id: (group[i] as Message).id, ...one }));
    post({ kind: "replies", replies });
  }
}

async function runGroup(workspaceId: string, group: readonly Message[]): Promise<Settled[]> {
  let open: Open;
  try {
    open = await useWorkspace(workspaceId);
  } catch (error) {
    post({ kind: "failure", failure: reportFailure(`opening ${workspaceId}`, error) });
    return group.map(() => ({
      answer: { kind: "problem", code: "unavailable", detail: UNREADABLE },
      auditId: null,
    }));
  }
  const jobs = group.map(jobsOf);
  const all = await open.writer.perform(jobs.flat());
  // What stands before an operation has no answer of its own.
  let last = -1;
  const settled = jobs.map((own) => {
    last += own.length;
    return all[last] as Settled;
  });
  if (open.writer.unsealed) schedule.note(workspaceId, clock());
  upkeepFullText.performed(workspaceId, group);
  embedding?.note(workspaceId);
  return settled;
}

/** The operation itself, behind what has to happen before it. */
function jobsOf(message: Message): Job[] {
  if ("event" in message) return [recordingJob(message.workspaceId, message.event)];
  const { name, input, principal, found, workspaceId } = message;
  const operation = operationOf(name, found);
  const job: Job = { operation: name, principal, run: (tx, context) => operation(tx, context, input) };
  const before = expiryBefore(name, input, workspaceId);
  return before === null ? [job] : [before, job];
}

async function sweep(workspaceIds: readonly string[]): Promise<void> {
  for (const workspaceId of workspaceIds) {
    try {
      const { connection, writer } = await useWorkspace(workspaceId);
      await sweepWorkspace(connection, writer);
      // What a crash or another process left unsealed is met here, too.
      if (writer.unsealed) schedule.note(workspaceId, clock());
    } catch (error) {
      post({ kind: "failure", failure: reportFailure(`sweeping ${workspaceId}`, error) });
    }
  }
}

const upkeep = setInterval(() => {
  turn = turn.then(async () => {
    await sealAll(workspaces.idle(clock()).filter((workspaceId) => schedule.has(workspaceId)));
    workspaces.closeIdle(clock());
  });
}, UPKEEP_INTERVAL_MS);

async function shutDown(): Promise<void> {
  clearInterval(upkeep);
  upkeepFullText.stop();
  embedding?.stop();
  await sealAll(schedule.end(), clock() + LAST_SEALS_MS);
  workspaces.closeAll();
  post({ kind: "closed" });
  parentPort?.close();
}

post({ kind: "ready" });
