/**
 * The thread that delivers events to sinks. It reads committed events on read-only connections, so no writer waits for
 * it, and a receiver that is slow or down delays only its own sink.
 */
import { join } from "node:path";
import { parentPort, workerData } from "node:worker_threads";
import { openWorkspaceReader } from "../../../core/writer/file.ts";
import { AllowedPlaces } from "../../../follow/sinks/allowed.ts";
import { eventsBehind, testMessage } from "../../../follow/sinks/batch.ts";
import { type SinkConfig, SinkFailed } from "../../../follow/sinks/config.ts";
import { Delivery, type SinkState } from "../../../follow/sinks/delivery.ts";
import { receiverOf } from "../../../follow/sinks/receivers.ts";
import { RandomPool, systemClock } from "../../../ids.ts";
import type { SinkPlaces } from "../../../sink.ts";
import { limitUnreleased, releaseClosed } from "../../../store/closing.ts";
import type { Connection } from "../../../store/connection.ts";
import { EncryptionKey } from "../../../store/encryption.ts";
import type { Reader } from "../../../store/transaction.ts";
import { BEHIND, runBehind } from "../../../thread-priority.ts";
import { ThreadGauges } from "../gauges.ts";
import { collectWhenIdle } from "../idle-collection.ts";
import { failureOf, type ThreadOptions } from "../messages.ts";
import { OpenWorkspaces } from "../open-workspaces.ts";
import type { FromSinks, IdleSink, SinkPlan, ToSinks } from "./messages.ts";

const IDLE_MS = 10_000;
const UPKEEP_INTERVAL_MS = 5_000;
/** How often the states of sinks are reported, ms. */
const REPORT_EVERY_MS = 50;
/** How often all backlogs are measured, ms. */
const MEASURE_EVERY_MS = 1_000;
/** How long a workspace is not read after `forget`, so that its file can be replaced, ms. */
const LEFT_ALONE_MS = 2_000;
/** How long a test may take, ms. */
const TEST_MS = 10_000;

const { workspacesDir, clockOffsetMs, ...options } = workerData as ThreadOptions;
const encryptionKey = options.encryptionKey === null ? null : EncryptionKey.ofText(options.encryptionKey);
new ThreadGauges(options.gauges).begin();
const clock = () => systemClock() + clockOffsetMs;
const random = new RandomPool();
const post = (message: FromSinks): void => parentPort?.postMessage(message);
const pathOf = (workspaceId: string): string => join(workspacesDir, `${workspaceId}.db`);

const connections = new OpenWorkspaces<Connection>(
  (workspaceId) => openWorkspaceReader(pathOf(workspaceId), workspaceId, encryptionKey),
  { maxOpen: options.open.readers, idleMs: IDLE_MS },
  pathOf,
);
/** When workspaces may be read again, ms of the monotonic clock. */
const leftAlone = new Map<string, number>();

const deliveries = new Map<string, Delivery>();
let idle: readonly IdleSink[] = [];
let places: SinkPlaces = { allow: [], directory: null };

const unreported = new Map<string, SinkState>();
let reporting: NodeJS.Timeout | null = null;

function report(state: SinkState): void {
  unreported.set(state.id, state);
  reporting ??= setTimeout(reportAll, REPORT_EVERY_MS);
}

function reportAll(): void {
  if (reporting !== null) clearTimeout(reporting);
  reporting = null;
  if (unreported.size > 0) post({ kind: "states", states: [...unreported.values()] });
  unreported.clear();
}

parentPort?.on("message", (message: ToSinks) => {
  handle(message).catch((error) => post(failureOf(message.kind, error)));
});

async function handle(message: ToSinks): Promise<void> {
  switch (message.kind) {
    case "plan":
      return follow(message.plan);
    case "test":
      return test(message);
    case "forget":
      leftAlone.set(message.workspaceId, performance.now() + LEFT_ALONE_MS);
      connections.drop(message.workspaceId);
      releaseClosed();
      return;
    case "close":
      return shutDown();
  }
}

/** Resolves when the last plan was applied: plans are applied one after another. */
let following: Promise<void> = Promise.resolve();

function follow(plan: SinkPlan): Promise<void> {
  following = following.then(() => change(plan));
  return following;
}

async function change(plan: SinkPlan): Promise<void> {
  const placesChanged = JSON.stringify(plan.places) !== JSON.stringify(places);
  places = plan.places;
  idle = plan.idle;
  const wanted = new Map(plan.sinks.map((run) => [run.config.id, run]));
  for (const [id, delivery] of [...deliveries]) {
    const run = wanted.get(id);
    if (run !== undefined && !placesChanged && isSame(run.config, delivery.config)) {
      wanted.delete(id);
      continue;
    }
    deliveries.delete(id);
    await delivery[Symbol.asyncDispose]();
    // The delivery's own position is newer than the plan's, so the next delivery continues from it.
    if (run !== undefined) wanted.set(id, { ...run, state: delivery.state });
  }
  for (const { config, state } of wanted.values()) deliveries.set(config.id, begun(config, state));
}

const receiverAt = ({ allow, directory }: SinkPlaces, config: SinkConfig) =>
  receiverOf(config, { allowed: new AllowedPlaces(allow), directory, clock });

const isSame = (one: SinkConfig, other: SinkConfig): boolean => JSON.stringify(one) === JSON.stringify(other);

function begun(config: SinkConfig, state: SinkState): Delivery {
  const { id, workspaceId } = config;
  return new Delivery(config, state, {
    read: (work) => readWorkspace(workspaceId, work),
    receiver: receiverAt(places, config),
    report,
    onGone: () => post({ kind: "gone", sinkId: id }),
    clock,
    random: () => (random.take(1)[0] as number) / 255,
    wait,
  });
}

async function readWorkspace<T>(workspaceId: string, work: (reader: Reader) => Promise<T>): Promise<T> {
  try {
    return await lookInto(workspaceId, work);
  } catch (error) {
    if (!(error instanceof SinkFailed)) post(failureOf(`a sink of ${workspaceId}`, error));
    throw error;
  }
}

async function lookInto<T>(workspaceId: string, work: (reader: Reader) => Promise<T>): Promise<T> {
  const waitMs = (leftAlone.get(workspaceId) ?? 0) - performance.now();
  if (waitMs > 0) await Bun.sleep(waitMs);
  leftAlone.delete(workspaceId);
  try {
    return await connections.use(workspaceId, clock(), work);
  } catch (error) {
    // The file may be replaced before it is next read, for instance by one from a backup.
    if (!(error instanceof SinkFailed)) connections.drop(workspaceId);
    throw error;
  }
}

/** Measures the backlogs of all sinks. */
async function measureAll(): Promise<void> {
  for (const delivery of deliveries.values()) {
    const { workspaceId } = delivery.config;
    // A delivery reports by itself that its workspace cannot be read.
    await lookInto(workspaceId, (reader) => delivery.measure(reader)).catch(() => {});
  }
  for (const sink of idle) {
    const { workspaceId, position } = sink;
    const lag = await lookInto(workspaceId, (reader) => eventsBehind(reader, sink, position)).catch(() => null);
    post({ kind: "lag", sinkId: sink.id, lag });
  }
}

/** The present measurement; null between two. */
let measuring: Promise<void> | null = null;
const measurements = setInterval(() => {
  measuring ??= measureAll().finally(() => {
    measuring = null;
  });
}, MEASURE_EVERY_MS);

async function wait(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  signal.addEventListener("abort", () => resolve(), { once: true });
  await promise;
  clearTimeout(timer);
}

async function test({ id, config, places }: Extract<ToSinks, { kind: "test" }>): Promise<void> {
  using receiver = receiverAt(places, config);
  try {
    const refused = await receiver.send(testMessage(config, clock()), AbortSignal.timeout(TEST_MS));
    post({ kind: "tested", id, error: refused });
  } catch (error) {
    if (!(error instanceof SinkFailed)) post(failureOf("the test of a sink", error));
    post({ kind: "tested", id, error: error instanceof SinkFailed ? error.message : "it failed unexpectedly" });
  }
}

const upkeep = setInterval(() => void connections.closeIdle(clock()), UPKEEP_INTERVAL_MS);

async function shutDown(): Promise<void> {
  clearInterval(upkeep);
  clearInterval(measurements);
  await following;
  await measuring;
  await Promise.all([...deliveries.values()].map((delivery) => delivery[Symbol.asyncDispose]()));
  reportAll();
  connections.closeAll();
  post({ kind: "closed" });
  parentPort?.close();
}

limitUnreleased(options.open.unreleased);
runBehind(BEHIND.delivering);
collectWhenIdle();
post({ kind: "ready" });
