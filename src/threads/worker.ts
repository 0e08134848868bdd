/**
 * A workspace thread: it owns the workspaces that are assigned to it, and runs their operations one
 * after another. Those of one workspace that wait at the same time share a transaction and its fsync.
 */
import { join } from "node:path";
import { parentPort, workerData } from "node:worker_threads";
import { systemClock } from "../ids.ts";
import { SealKeyring } from "../seals/keyring.ts";
import { sealFilePath } from "../seals/options.ts";
import { SealSchedule } from "../seals/schedule.ts";
import { WorkspaceSealer } from "../seals/sealer.ts";
import { embedderOf } from "../search/vectors/embedding-options.ts";
import type { Connection } from "../store/connection.ts";
import { EncryptionKey } from "../store/encryption.ts";
import { openWorkspaceFile } from "../workspace/file.ts";
import { type Job, WorkspaceWriter } from "../workspace/perform.ts";
import { recordingJob } from "../workspace/recording.ts";
import type { Settled } from "../workspace/settled.ts";
import { DamagedWorkspace } from "../workspace/storage-failure.ts";
import { expiryBefore, sweepWorkspace } from "../workspace/sweep.ts";
import { EmbeddingUpkeep } from "./embedding-upkeep.ts";
import { FullTextUpkeep } from "./full-text-upkeep.ts";
import { Gathered } from "./gathered.ts";
import { ThreadGauges } from "./gauges.ts";
import { GuardedWorkspaces, whyUnusable } from "./guarded-workspaces.ts";
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
import { prepareScreening } from "./preparation.ts";
import { collectWhenQuiet } from "./quiet-memory.ts";
import { jobOf } from "./registry.ts";
import { writeReplies } from "./reply-text.ts";
import { Turns } from "./turns.ts";

/** Workspaces that one thread keeps open, and how long an idle one stays so. */
const MAX_OPEN = 128;
const IDLE_MS = 60_000;
/** How often idle workspaces are closed and open ones swept for expired entries. */
const UPKEEP_INTERVAL_MS = 30_000;

/** How often troubled workspaces are tried again. */
const PROBE_INTERVAL_MS = 1_000;

/** A workspace that could not be sealed is tried again after this long. */
const SEAL_RETRY_MS = 60_000;
/** What sealing may take of the time that a stop has. What is left is sealed at the next start. */
const LAST_SEALS_MS = 4_000;

const { workspacesDir, clockOffsetMs, embeddings, sealing, quota, ...options } = workerData as ThreadOptions;
const encryptionKey = options.encryptionKey === null ? null : EncryptionKey.ofText(options.encryptionKey);
const gauges = new ThreadGauges(options.gauges);
gauges.begin();
const clock = () => systemClock() + clockOffsetMs;

/** Everything that is done with workspaces: none ever sees two things at once. */
const turns = new Turns();

function takeTurn(what: string, work: () => Promise<void>): void {
  turns.take(work).catch((error) => post({ kind: "failure", failure: reportFailure(what, error) }));
}

/** Changes what follows from a workspace's log, when its turn comes. */
function derive<T>(workspaceId: string, work: (connection: Connection) => Promise<T>): Promise<T> {
  return turns.take(() => guarded.use(workspaceId, ({ writer }) => writer.derive(work)));
}

const post = (message: FromWriter): void => parentPort?.postMessage(JSON.stringify(message));

interface Open {
  connection: Connection;
  writer: WorkspaceWriter;
  /** Resolves when its seals are taken up; nothing is done with it before. */
  ready: Promise<void>;
  close(): void;
}

const pathOf = (workspaceId: string): string => join(workspacesDir, `${workspaceId}.db`);

const workspaces = new OpenWorkspaces<Open>(openWorkspace, { maxOpen: MAX_OPEN, idleMs: IDLE_MS }, pathOf);
const guarded = new GuardedWorkspaces(workspaces, clock, post);

function openWorkspace(workspaceId: string): Open {
  const connection = openWorkspaceFile(pathOf(workspaceId), encryptionKey);
  if (sparing) connection.keepLogShort();
  const onFailure = (operation: string, error: unknown) => {
    if (operation === "commit") gauges.increment("failedGroups");
    guarded.fail(workspaceId, `${operation} in ${workspaceId}`, error);
  };
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
  derive(workspaceId, work).catch((error) => {
    upkeepFullText.failed(workspaceId);
    guarded.fail(workspaceId, `full text of ${workspaceId}`, error);
  });
});

/** Vectors by a model outside; null without one. */
const embedding =
  embeddings === null
    ? null
    : new EmbeddingUpkeep({
        embedder: embedderOf(embeddings),
        run: derive,
        onFailure: (workspaceId, error) =>
          post({ kind: "failure", failure: reportFailure(`vectors of ${workspaceId}`, error) }),
        onRecovery: (failures) => post({ kind: "recovery", recovery: { where: "vectors", failures } }),
      });

const keyring = new SealKeyring(sealing.key);
const schedule = new SealSchedule(sealing.intervalMs, () => {
  takeTurn("sealing", () => sealAll(schedule.takeDue(clock())));
});

/** While the disk is full, write-ahead logs are kept short: closing brings them back into their files. */
let sparing = false;

function spare(wanted: boolean): void {
  sparing = wanted;
  workspaces.closeAll();
}

/** What has to be sealed, for whoever watches. */
function gaugeSeals(): void {
  const { workspaces: waiting, sinceMs } = schedule.unsealed;
  gauges.set("unsealedWorkspaces", waiting);
  gauges.set("unsealedSinceMs", sinceMs);
}

/** Seals workspaces one after another, until a moment if one is given. */
async function sealAll(workspaceIds: readonly string[], untilMs = Number.POSITIVE_INFINITY): Promise<void> {
  for (const workspaceId of workspaceIds) {
    if (clock() > untilMs) return;
    try {
      await guarded.use(workspaceId, ({ writer }) => writer.seal());
      schedule.remove(workspaceId);
    } catch (error) {
      schedule.note(workspaceId, clock(), SEAL_RETRY_MS);
      gauges.increment("sealFailures");
      guarded.fail(workspaceId, `sealing ${workspaceId}`, error);
    }
  }
  gaugeSeals();
}

type Message = OperationMessage | EventMessage;

const gathered = new Gathered<Message>();

parentPort?.on("message", (text: string) => {
  const message = JSON.parse(text) as ToWriter;
  if (message.kind !== "operations") takeTurn(message.kind, () => handle(message));
  else {
    gathered.add(message.operations, message.depth);
    takeTurn(message.kind, serve);
  }
});

/**
 * Serves a group of what has gathered. The event loop has its turn first: so whatever arrived meanwhile joins the
 * group, and the descriptors of closed workspaces that the collector met are given back.
 */
async function serve(): Promise<void> {
  if (gathered.isEmpty) return; // what this turn was for joined an earlier group
  await new Promise((resolve) => setImmediate(resolve));
  const next = gathered.take();
  if (!gathered.isEmpty) takeTurn("operations", serve);
  if (next !== null) await runOperations(next.workspaceId, next.group);
}

async function handle(message: Exclude<ToWriter, { kind: "operations" }>): Promise<void> {
  switch (message.kind) {
    case "sweep":
      return sweep(message.workspaceIds);
    case "spare":
      return spare(message.sparing);
    case "cosigned":
      return guarded.use(message.workspaceId, ({ writer }) =>
        writer.addCosignatures(message.size, message.note),
      );
    case "close":
      return shutDown();
  }
}

async function runOperations(workspaceId: string, group: readonly Message[]): Promise<void> {
  const settled = await runGroup(workspaceId, group);
  const replies = settled.map(({ answer, auditId, result, blockedBy }, i): ReplyMessage => {
    const id = (group[i] as Message).id;
    if (result === undefined) return { id, answer, auditId };
    return blockedBy === undefined
      ? { id, answer, auditId, result }
      : { id, answer, auditId, result, blockedBy };
  });
  parentPort?.postMessage(writeReplies(replies));
}

async function runGroup(workspaceId: string, group: readonly Message[]): Promise<Settled[]> {
  try {
    return await guarded.use(workspaceId, (open) => runJobs(workspaceId, open, group));
  } catch (error) {
    guarded.fail(workspaceId, `opening ${workspaceId}`, error);
    const detail = whyUnusable(error);
    return group.map(() => ({ answer: { kind: "problem", code: "unavailable", detail }, auditId: null }));
  }
}

async function runJobs(workspaceId: string, { writer }: Open, group: readonly Message[]): Promise<Settled[]> {
  const jobs = group.map(jobsOf);
  const beganMs = performance.now();
  const all = await writer.perform(jobs.flat());
  gauges.transactions.observe((performance.now() - beganMs) / 1_000);
  // What stands before an operation has no answer of its own.
  let last = -1;
  const settled = jobs.map((own) => {
    last += own.length;
    return all[last] as Settled;
  });
  if (writer.unsealed) schedule.note(workspaceId, clock());
  gaugeSeals();
  gauges.set("openWorkspaces", workspaces.size);
  upkeepFullText.performed(workspaceId, group);
  embedding?.note(workspaceId);
  return settled;
}

/** The operation itself, behind what has to happen before it. */
function jobsOf(message: Message): Job[] {
  if ("event" in message) return [recordingJob(message.workspaceId, message.event)];
  const { name, input, found, workspaceId } = message;
  const job = jobOf(message, found, quota);
  const before = expiryBefore(name, input, workspaceId);
  return before === null ? [job] : [before, job];
}

async function sweep(workspaceIds: readonly string[]): Promise<void> {
  for (const workspaceId of workspaceIds) {
    try {
      await guarded.use(workspaceId, async ({ connection, writer }) => {
        await sweepWorkspace(connection, writer);
        // What a crash or another process left unsealed is met here, too.
        if (writer.unsealed) schedule.note(workspaceId, clock());
      });
    } catch (error) {
      guarded.fail(workspaceId, `sweeping ${workspaceId}`, error);
    }
  }
}

const upkeep = setInterval(() => {
  takeTurn("upkeep", async () => {
    await sealAll(workspaces.idle(clock()).filter((workspaceId) => schedule.has(workspaceId)));
    workspaces.closeIdle(clock());
    gauges.set("openWorkspaces", workspaces.size);
  });
}, UPKEEP_INTERVAL_MS);

const probing = setInterval(() => {
  takeTurn("probing", () => guarded.probe());
}, PROBE_INTERVAL_MS);

async function shutDown(): Promise<void> {
  while (!gathered.isEmpty) await serve();
  clearInterval(upkeep);
  clearInterval(probing);
  upkeepFullText.stop();
  embedding?.stop();
  await sealAll(schedule.end(), clock() + LAST_SEALS_MS);
  workspaces.end();
  post({ kind: "closed" });
  parentPort?.close();
}

collectWhenQuiet();
post({ kind: "ready" });
prepareScreening().catch((error) => post({ kind: "failure", failure: reportFailure("screening", error) }));
