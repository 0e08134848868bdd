/**
 * The thread that delivers events to sinks. It reads committed events on read-only connections, so no writer waits for
 * it, and a receiver that is slow or down delays only its own sink.
 */
import { join } from "node:path";
import { parentPort, workerData } from "node:worker_threads";
import { KeyUnusable } from "../../../core/datadir/secret-key.ts";
import { SerialQueue } from "../../../core/serial-queue.ts";
import { openWorkspaceReader } from "../../../core/writer/file.ts";
import { AllowedPlaces } from "../../../follow/sinks/allowed.ts";
import { eventsBehind } from "../../../follow/sinks/batch.ts";
import { type SinkConfig, SinkFailed } from "../../../follow/sinks/config.ts";
import { Delivery, type SinkState } from "../../../follow/sinks/delivery.ts";
import type { Receiver } from "../../../follow/sinks/receiver.ts";
import { receiverOf } from "../../../follow/sinks/receivers.ts";
import { isUnchanged, listSinks, SinkKey, type StoredSink } from "../../../follow/sinks/stored.ts";
import { Follower } from "../../../follower.ts";
import { systemClock } from "../../../ids.ts";
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
import type { FromSinks, ReportedSink, SinkPlan, ToSinks } from "./messages.ts";

const IDLE_MS = 10_000;
const UPKEEP_INTERVAL_MS = 5_000;
/** How often the states of sinks are reported, ms. */
const REPORT_EVERY_MS = 50;
/** How often all backlogs are measured, ms. */
const MEASURE_EVERY_MS = 1_000;
/** How long a workspace is not read after `forget`, so that its file can be replaced, ms. */
const LEFT_ALONE_MS = 2_000;

const { workspacesDir, clockOffsetMs, ...options } = workerData as ThreadOptions;
const encryptionKey = options.encryptionKey === null ? null : EncryptionKey.ofText(options.encryptionKey);
new ThreadGauges(options.gauges).begin();
const clock = () => systemClock() + clockOffsetMs;
const key = new SinkKey(options.site);
const post = (message: FromSinks): void => parentPort?.postMessage(message);
const pathOf = (workspaceId: string): string => join(workspacesDir, `${workspaceId}.db`);

const connections = new OpenWorkspaces<Connection>(
  (workspaceId) => openWorkspaceReader(pathOf(workspaceId), workspaceId, encryptionKey),
  { maxOpen: options.open.readers, idleMs: IDLE_MS },
  pathOf,
);
/** When workspaces may be read again, ms of the monotonic clock. */
const leftAlone = new Map<string, number>();

/** A sink that is delivered to, or of which only the backlog is measured: it is disabled, or its secrets are lost. */
interface Followed {
  sink: StoredSink;
  /** Null for a sink to which nothing is delivered. */
  delivery: Delivery | null;
  state: SinkState;
}

/** The sinks of each workspace of the plan, by id; empty until the workspace was read. */
const followed = new Map<string, Map<string, Followed>>();
/** The workspaces that have to be read again. */
const unread = new Set<string>();
/** Those of them that could not be read, which is reported once. */
const unreadable = new Set<string>();
let places: SinkPlaces = { allow: [], directory: null };

const unreported = new Map<string, ReportedSink>();
let reporting: NodeJS.Timeout | null = null;

function report(workspaceId: string, one: Pick<Followed, "sink">, state: SinkState): void {
  unreported.set(state.id, { ...state, workspaceId, isDisabled: !one.sink.enabled });
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
      return queue.run(() => follow(message.plan));
    case "look":
      unread.add(message.workspaceId);
      return queue.run(lookAtUnread);
    case "forget":
      leftAlone.set(message.workspaceId, performance.now() + LEFT_ALONE_MS);
      connections.drop(message.workspaceId);
      releaseClosed();
      return;
    case "close":
      return shutDown();
  }
}

/** Plans and looks are carried out one after another. */
const queue = new SerialQueue();

async function follow(plan: SinkPlan): Promise<void> {
  const placesChanged = JSON.stringify(plan.places) !== JSON.stringify(places);
  places = plan.places;
  const wanted = new Set(plan.workspaceIds);
  for (const [workspaceId, sinks] of followed) {
    if (wanted.has(workspaceId)) continue;
    followed.delete(workspaceId);
    await endAll(sinks.values());
    connections.drop(workspaceId);
  }
  for (const workspaceId of wanted) {
    const isNew = !followed.has(workspaceId);
    if (isNew) followed.set(workspaceId, new Map());
    if (isNew || placesChanged) unread.add(workspaceId);
    // A receiver keeps the places with which it began.
    if (placesChanged) for (const one of followed.get(workspaceId)?.values() ?? []) await endDelivery(one);
  }
  await lookAtUnread();
}

/** Reads the sinks of the workspaces that have to be read. One that cannot be read is tried again later. */
async function lookAtUnread(): Promise<void> {
  for (const workspaceId of [...unread]) {
    unread.delete(workspaceId);
    const sinks = followed.get(workspaceId);
    if (sinks === undefined) continue;
    try {
      await take(workspaceId, sinks, await lookInto(workspaceId, listSinks));
      unreadable.delete(workspaceId);
    } catch (error) {
      unread.add(workspaceId);
      if (!unreadable.has(workspaceId)) post(failureOf(`the sinks of ${workspaceId}`, error));
      unreadable.add(workspaceId);
    }
  }
}

/** Begins, ends and changes the deliveries of a workspace, so that they are those to its stored sinks. */
async function take(workspaceId: string, sinks: Map<string, Followed>, stored: readonly StoredSink[]): Promise<void> {
  const ids = new Set(stored.map(({ id }) => id));
  const removed = [...sinks.values()].filter(({ sink }) => !ids.has(sink.id));
  for (const { sink } of removed) sinks.delete(sink.id);
  await endAll(removed);
  for (const sink of stored) {
    const before = sinks.get(sink.id);
    if (before?.delivery != null && before.sink.revision === sink.revision) continue;
    if (before !== undefined) await endDelivery(before);
    const one: Followed = { sink, delivery: null, state: before?.state ?? stateOf(sink) };
    sinks.set(sink.id, one);
    if (sink.enabled) one.delivery = begun(workspaceId, one);
    if (one.delivery === null) report(workspaceId, one, one.state);
  }
}

/** Ends a delivery, and keeps its position, which is newer than the stored one. */
async function endDelivery(one: Followed): Promise<void> {
  await one.delivery?.[Symbol.asyncDispose]();
  one.state = one.delivery?.state ?? one.state;
  one.delivery = null;
}

async function endAll(ended: Iterable<Followed>): Promise<void> {
  const all = [...ended];
  if (all.length === 0) return;
  await Promise.all(all.map(endDelivery));
  reportAll();
  post({ kind: "ended", sinkIds: all.map(({ sink }) => sink.id) });
}

/** Returns the stored state of a sink. */
const stateOf = ({ id, position, deliveredAt, lastError }: StoredSink): SinkState => ({
  ...{ id, position, deliveredAt, lastError, lag: null, delivered: 0, failed: 0 },
  isFailing: lastError !== null && lastError.isPartial !== true,
});

/** Begins the delivery to a sink. Returns null when its secrets cannot be read; the sink then fails. */
function begun(workspaceId: string, one: Followed): Delivery | null {
  const { sink, state } = one;
  let config: SinkConfig;
  try {
    config = key.configOf(sink, workspaceId);
  } catch (error) {
    if (!(error instanceof KeyUnusable)) throw error;
    const lastError = { at: clock(), message: "the secrets cannot be read: keys/sinks.key" };
    one.state = { ...state, isFailing: true, lastError };
    return null;
  }
  return new Delivery(config, state, {
    read: (work) => readOf(workspaceId, sink, work),
    receiver: receiverAt(places, config),
    report: (changed) => report(workspaceId, one, changed),
    onGone: () => post({ kind: "gone", workspaceId, sinkId: sink.id }),
    clock,
  });
}

/** Reads a sink's workspace, unless the sink is not as it was any more, and its workspace must be looked at. */
function readOf<T>(workspaceId: string, sink: StoredSink, work: (reader: Reader) => Promise<T>): Promise<T | null> {
  return readWorkspace(workspaceId, async (reader) => {
    if (await isUnchanged(reader, sink)) return await work(reader);
    unread.add(workspaceId);
    void queue.run(lookAtUnread);
    return null;
  });
}

/** The sink that writes each file, by its name in lower case, since on some systems names differ only in case. */
const writers = new Map<string, string>();

/** Returns the receiver of a sink. Of sinks of several workspaces with one file, the first one writes it. */
function receiverAt({ allow, directory }: SinkPlaces, config: SinkConfig): Receiver {
  const receiver = receiverOf(config, { allowed: new AllowedPlaces(allow), directory, clock });
  if (config.type !== "file") return receiver;
  const file = config.url.toLowerCase();
  return {
    async send(message, signal) {
      if (writers.getOrInsert(file, config.id) !== config.id) throw new SinkFailed(TAKEN);
      return await receiver.send(message, signal);
    },
    [Symbol.dispose]() {
      if (writers.get(file) === config.id) writers.delete(file);
      receiver[Symbol.dispose]();
    },
  };
}

const TAKEN = "a sink of another workspace writes this file: name another one";

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

/** Measures the backlogs of all sinks, and reads the workspaces that could not be read before. */
async function measureAll(): Promise<number> {
  if (unread.size > 0) await queue.run(lookAtUnread);
  for (const [workspaceId, sinks] of followed) {
    // A delivery reports by itself that its workspace cannot be read.
    if (sinks.size > 0) await lookInto(workspaceId, (reader) => measure(reader, workspaceId, sinks)).catch(() => {});
  }
  measurements.recovered();
  return MEASURE_EVERY_MS;
}

async function measure(reader: Reader, workspaceId: string, sinks: ReadonlyMap<string, Followed>): Promise<void> {
  for (const one of sinks.values()) {
    if (one.delivery !== null) {
      await one.delivery.measure(reader);
      continue;
    }
    const lag = await eventsBehind(reader, { ...one.sink, position: one.state.position });
    if (lag === one.state.lag || one.delivery !== null) continue;
    one.state = { ...one.state, lag };
    report(workspaceId, one, one.state);
  }
}

const measurements = new Follower({
  step: measureAll,
  failed: (error) => post(failureOf("the backlogs of sinks", error)),
});
measurements.wake(MEASURE_EVERY_MS);

const upkeep = setInterval(() => void connections.closeIdle(clock()), UPKEEP_INTERVAL_MS);

async function shutDown(): Promise<void> {
  clearInterval(upkeep);
  try {
    await measurements.end();
    await queue.run(async () => {});
    await Promise.all([...followed.values()].flatMap((sinks) => [...sinks.values()].map(endDelivery)));
    reportAll();
    connections.closeAll();
  } finally {
    post({ kind: "closed" });
    parentPort?.close();
  }
}

limitUnreleased(options.open.unreleased);
runBehind(BEHIND.delivering);
collectWhenIdle();
post({ kind: "ready" });
