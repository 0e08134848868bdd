/**
 * A reader thread: it runs queries that may take long, and streams, on read-only connections. Long work yields between
 * pages, so a search never waits for the end of an export.
 */
import { join } from "node:path";
import { parentPort, workerData } from "node:worker_threads";
import { textOfItems } from "../../core/long-text.ts";
import { ActingRights } from "../../core/rows/access/acting.ts";
import { SearchIndexes } from "../../core/rows/search-indexes.ts";
import { requireContinuation } from "../../core/writer/continuity.ts";
import {
  type Answer,
  hasRow,
  type Principal,
  problem,
  type Reply,
  type Retry,
  refusal,
  type StreamPlan,
  unrecorded,
} from "../../core/writer/contract.ts";
import { openWorkspaceReader } from "../../core/writer/file.ts";
import type { LookContext } from "../../core/writer/operation.ts";
import { earlierReply } from "../../core/writer/retries.ts";
import { isReadFailure, REPLACED, ReplacedWorkspace } from "../../core/writer/storage-failure.ts";
import { systemClock } from "../../ids.ts";
import { seesSetAside } from "../../log/event.ts";
import { isInspection, looksAlone } from "../../operations.ts";
import { streamExport } from "../../ops/audit/export.ts";
import { streamExtract } from "../../ops/audit/extract.ts";
import { streamTail } from "../../ops/audit/live.ts";
import { streamCheckpoint } from "../../ops/checkpoints/checkpoint.ts";
import { streamReplay } from "../../ops/policies/replay.ts";
import { Problem, type ProblemCode } from "../../problem.ts";
import { embedderOf } from "../../search/vectors/embedding-options.ts";
import { QueryEmbedder } from "../../search/vectors/query-embedder.ts";
import { limitUnreleased, releaseClosed } from "../../store/closing.ts";
import { type Connection, checked } from "../../store/connection.ts";
import { EncryptionKey } from "../../store/encryption.ts";
import { untilDescriptors } from "../../store/spare-descriptors.ts";
import { hasTable } from "../../store/transaction.ts";
import { runBehind } from "../../thread-priority.ts";
import { ThreadGauges } from "./gauges.ts";
import { collectWhenIdle } from "./idle-collection.ts";
import { KnownHeads } from "./known-heads.ts";
import {
  type FromReader,
  failureOf,
  type LookupResult,
  type Query,
  type ThreadOptions,
  type ToReader,
} from "./messages.ts";
import { OpenWorkspaces } from "./open-workspaces.ts";
import { withParts } from "./parts.ts";
import { lookOf } from "./registry.ts";

const IDLE_MS = 60_000;
const UPKEEP_INTERVAL_MS = 30_000;
/** The size of a stream's chunks, UTF-16 units; larger pieces are sent unchanged. */
const CHUNK_CHARACTERS = 64 * 1024;

const { workspacesDir, clockOffsetMs, searchMemoryBytes, fullTextFrom, embeddings, ...options } =
  workerData as ThreadOptions;
const encryptionKey = options.encryptionKey === null ? null : EncryptionKey.ofText(options.encryptionKey);
const gauges = new ThreadGauges(options.gauges);
gauges.begin();
const clock = () => systemClock() + clockOffsetMs;
const encoder = new TextEncoder();

const post = (message: FromReader): void => parentPort?.postMessage(message);

const askForDescriptors = (): void => post({ kind: "no_descriptors" });

const pathOf = (workspaceId: string): string => join(workspacesDir, `${workspaceId}.db`);

const heads = new KnownHeads(options.heads);

function openReader(workspaceId: string): Connection {
  return checked(openWorkspaceReader(pathOf(workspaceId), workspaceId, encryptionKey), (connection) => {
    const known = heads.get(workspaceId);
    if (known !== null) requireContinuation(connection, known);
  });
}

/** For queries; each stream has its own connection. */
const workspaces = new OpenWorkspaces(
  openReader,
  { maxOpen: options.open.readers, idleMs: IDLE_MS },
  pathOf,
  askForDescriptors,
);

const indexes = new SearchIndexes(searchMemoryBytes, fullTextFrom);

const queryEmbedder =
  embeddings === null
    ? null
    : new QueryEmbedder(embedderOf(embeddings), {
        onFailure: (error) => post(failureOf("vector of a query", error)),
        onRecovery: (failures) => post({ kind: "recovery", recovery: { where: "vector of a query", failures } }),
      });

interface OpenStream {
  pieces: AsyncGenerator<string>;
  /** Whether each piece is sent at once. */
  live: boolean;
  connection: Connection;
}
const streams = new Map<number, OpenStream>();
/** Streams that are being opened. */
const opening = new Map<number, Promise<void>>();

parentPort?.on("message", (message: ToReader) => {
  handle(message).catch((error) => post(failureOf(message.kind, error)));
});

async function handle(message: ToReader): Promise<void> {
  switch (message.kind) {
    case "query":
      return runQuery(withParts(message.query));
    case "open":
      opening.set(message.id, openStream(message.id, message.workspaceId, message.plan));
      await opening.get(message.id);
      return void opening.delete(message.id);
    case "pull":
      await opening.get(message.id);
      return pull(message.id);
    case "cancel":
      await opening.get(message.id);
      return closeStream(message.id);
    case "forget":
      workspaces.drop(message.workspaceId);
      releaseClosed();
      return;
    case "change":
      options.site = message.site;
      return;
    case "close":
      return shutDown();
  }
}

async function runQuery(query: Query): Promise<void> {
  const { id, workspaceId, name, principal, retry } = query;
  try {
    const refused = hasRow(principal) ? await refusedRight(workspaceId, principal) : null;
    if (refused !== null) return post({ kind: "answered", id, reply: refusal(refused) });
    const earlier = retry === undefined ? null : await answeredBefore(workspaceId, retry);
    if (earlier !== null) return post({ kind: "answered", id, reply: earlier });
    const found = await look(query);
    if (isInspection(name)) return post({ kind: "answered", id, reply: unrecorded(found as Answer) });
    if (name === "data.search") gauges.set("searchBytes", indexes.memoryBytes);
    post({ kind: "found", id, ...withoutItems(found, retry !== undefined) });
  } catch (error) {
    if (error instanceof Problem) return post({ kind: "answered", id, reply: refusal(error) });
    post({ kind: "answered", id, reply: problem(...explain(error)) });
    // The file may be replaced before its next use, for instance by one from a backup.
    workspaces.drop(workspaceId);
    post(failureOf(`${name} in ${workspaceId}`, error));
  }
}

/**
 * Returns the result for the workspace's thread, with the list of items apart from it. An answer that will be stored
 * needs the items in the result.
 */
function withoutItems(found: unknown, isStored: boolean): LookupResult {
  if (isStored || found === null || typeof found !== "object" || !("items" in found))
    return { found: JSON.stringify(found) };
  const items = found.items as string[];
  return { found: JSON.stringify({ ...found, items: items.length }), items: textOfItems("", items, "") };
}

/** Returns the problem of a right that has ended or changed since the main thread has read it. */
const refusedRight = (workspaceId: string, principal: Principal): Promise<Problem | null> =>
  workspaces.use(workspaceId, clock(), async (reader) => new ActingRights(reader).problemOf(principal, clock()));

/**
 * Returns the stored answer to a request, which makes another lookup unnecessary; null when there is none. The table
 * does not exist in a file that was not opened for writing yet.
 */
const answeredBefore = (workspaceId: string, retry: Retry): Promise<Reply | null> =>
  workspaces.use(workspaceId, clock(), async (reader) =>
    (await hasTable(reader, "answers")) ? earlierReply(reader, retry, clock()) : null,
  );

function explain(error: unknown): [ProblemCode, string] {
  if (error instanceof ReplacedWorkspace) return ["unavailable", REPLACED];
  return isReadFailure(error)
    ? ["unavailable", "The workspace's file cannot be read; nothing was changed. The server's log names it."]
    : ["internal", "An unexpected failure; nothing was changed."];
}

async function look({ workspaceId, name, input, principal }: Query): Promise<unknown> {
  const nowMs = clock();
  const apart: LookContext["apart"] = (read) => readApart(workspaceId, read);
  const who = { principal, nowMs, seesSetAside: seesSetAside(principal.actor) };
  const context = { workspaceId, ...who, site: options.site, apart, indexes, queryEmbedder };
  const own = lookOf(name);
  const read = (reader: Connection) => own(reader, context, input);
  if (!looksAlone(name)) return workspaces.use(workspaceId, nowMs, read);
  using _ = await placeForVerification();
  await untilDescriptors(askForDescriptors);
  const alone = openReader(workspaceId);
  try {
    return await read(alone);
  } finally {
    alone.close();
  }
}

/** Reads one state of a workspace over a connection of its own, since the shared one must see each new commit. */
async function readApart<T>(workspaceId: string, read: (reader: Connection) => Promise<T>): Promise<T> {
  await untilDescriptors(askForDescriptors);
  const alone = openReader(workspaceId);
  try {
    alone.exec("BEGIN");
    return await read(alone);
  } finally {
    alone.close();
  }
}

let verifications = 0;
const waitingVerifications: (() => void)[] = [];

/** Waits until another verification may run. The returned object ends its place. */
async function placeForVerification(): Promise<Disposable> {
  if (verifications < options.open.verifications) verifications++;
  else await new Promise<void>((resolve) => waitingVerifications.push(resolve));
  return {
    [Symbol.dispose]() {
      const next = waitingVerifications.shift();
      if (next === undefined) verifications--;
      else next(); // it takes this place
    },
  };
}

async function openStream(id: number, workspaceId: string, plan: StreamPlan): Promise<void> {
  try {
    await untilDescriptors(askForDescriptors);
    const connection = openReader(workspaceId);
    const live = plan.kind === "tail" || plan.kind === "replay";
    streams.set(id, { pieces: piecesOf(connection, workspaceId, plan), live, connection });
  } catch (error) {
    // The client is waiting for the stream, so it must be told.
    post({ kind: "broken", id });
    post(failureOf(`a stream of ${workspaceId}`, error));
  }
}

function piecesOf(connection: Connection, workspaceId: string, plan: StreamPlan): AsyncGenerator<string> {
  switch (plan.kind) {
    case "export":
      return streamExport(connection, plan, workspaceId);
    case "checkpoint":
      return streamCheckpoint(connection, plan);
    case "extract":
      return streamExtract(connection, plan);
    case "tail":
      return streamTail(connection, plan);
    case "replay":
      return streamReplay(connection, plan);
  }
}

async function pull(id: number): Promise<void> {
  const stream = streams.get(id);
  if (stream === undefined) return;
  try {
    let text = "";
    while (text.length < CHUNK_CHARACTERS) {
      const piece = await stream.pieces.next();
      if (piece.done) {
        if (text !== "") sendChunk(id, text);
        closeStream(id);
        post({ kind: "end", id });
        return;
      }
      text += piece.value;
      if (stream.live) break;
    }
    if (!streams.has(id)) return; // cancelled meanwhile
    sendChunk(id, text);
  } catch (error) {
    // Reading failed because the stream was cancelled meanwhile, which closed its connection.
    if (!streams.has(id)) return;
    closeStream(id);
    post({ kind: "broken", id });
    post(failureOf("a stream", error));
  }
}

function sendChunk(id: number, text: string): void {
  const bytes = encoder.encode(text);
  parentPort?.postMessage({ kind: "chunk", id, bytes } satisfies FromReader, [bytes.buffer]);
}

function closeStream(id: number): void {
  const stream = streams.get(id);
  if (stream === undefined) return;
  streams.delete(id);
  stream.connection.close();
}

const upkeep = setInterval(() => void workspaces.closeIdle(clock()), UPKEEP_INTERVAL_MS);

/** Closes all files and ends the thread. A damaged file that cannot be closed does not keep it. */
function shutDown(): void {
  clearInterval(upkeep);
  try {
    for (const id of [...streams.keys()]) closeStream(id);
    workspaces.closeAll();
  } finally {
    post({ kind: "closed" });
    parentPort?.close();
  }
}

limitUnreleased(options.open.unreleased);
runBehind(options.behind);
collectWhenIdle(() => workspaces.resources());
post({ kind: "ready" });
