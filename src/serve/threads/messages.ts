/**
 * Messages between the main thread and the other threads. A group of operations, or of replies, is sent as one JSON
 * text: one message per burst, and cheaper to pass between threads than objects.
 */

import { type LongText, putAround, wholeText } from "../../core/long-text.ts";
import type { Note } from "../../core/rows/access/notes.ts";
import type { StoredSeal } from "../../core/rows/log/seals.ts";
import type { SealingOptions } from "../../core/seals/options.ts";
import { SealRefused } from "../../core/seals/sealer.ts";
import type { OperationRequest, Principal, Reply, StreamPlan, WorkspaceEvent } from "../../core/writer/contract.ts";
import type { openWorkspaceFile } from "../../core/writer/file.ts";
import type { Site } from "../../core/writer/site.ts";
import {
  DamagedWorkspace,
  MissingWorkspace,
  type StorageTrouble,
  Unreachable,
} from "../../core/writer/storage-failure.ts";
import { Failure, stackFrames } from "../../failure.ts";
import type { SinkPosition } from "../../follow/sinks/stored.ts";
import type { Clock, RandomPool } from "../../ids.ts";
import type { JsonValue } from "../../json.ts";
import type { RowTableName } from "../../log/row-effects.ts";
import type { CompositeName, OperationInputs } from "../../operations.ts";
import type { Quota } from "../../ops/data/quota.ts";
import { EmbeddingError } from "../../search/vectors/embedder.ts";
import type { EmbeddingOptions } from "../../search/vectors/embedding-options.ts";
import type { ServerOptions } from "../../settings/server-options.ts";
import type { Compacted } from "../../store/compaction.ts";
import { EncryptionMismatch } from "../../store/encryption.ts";
import { MigrationFailed, UnknownSchema } from "../../store/migrate.ts";
import type { Timer } from "../../timer.ts";
import type { OpenLimits } from "./descriptors.ts";

/** The options of a thread, passed as its worker data. */
export interface ThreadOptions {
  /** The directory of the workspaces' files. */
  workspacesDir: string;
  /** The key of the workspaces' files, as {@link EncryptionKey} reveals it; null when they are not encrypted. */
  encryptionKey: string | null;
  /** The libSQL server of the workspaces; null when the workspaces are in files. */
  server: ServerOptions | null;
  /** Added to the system clock, ms, so that tests can move time. */
  clockOffsetMs: number;
  /** The most memory of one thread's search indexes, bytes. */
  searchMemoryBytes: number;
  /** Agents with more live entries than this get a full-text index. */
  fullTextFrom: number;
  /** The external model that search also uses; null for none. */
  embeddings: EmbeddingOptions | null;
  /** The quota of each workspace; null for no limit. */
  quota: Quota | null;
  /** Bytes of answers that one workspace may store for retries; 0 for no limit. */
  answerBytes: number;
  /** What operations need of the installation. */
  site: Site;
  /** How workspaces are sealed. */
  sealing: SealingOptions;
  /** How many databases may be open. */
  open: OpenLimits;
  /** The memory of the thread's {@link ThreadGauges}. */
  gauges: SharedArrayBuffer;
  /** The memory of the {@link KnownHeads} of its workspaces. */
  heads: SharedArrayBuffer;
  /** The memory of the {@link DiskSpace} of all threads. */
  space: SharedArrayBuffer;
  /** How far the thread's priority is below that of the threads that answer requests ({@link BEHIND}). */
  behind: number;
}

/** The environment of a workspace thread: time, files, and the channel to the main thread. */
export interface Surroundings {
  clock: Clock;
  /** Time that is never set back, ms. */
  monotonicMs(): number;
  timer: Timer;
  random: RandomPool;
  /** Sends a message to the main thread: a {@link FromWriter} as JSON, or replies (reply-text.ts). */
  post(text: string): void;
  /** Opens a workspace's file for writing, as {@link openWorkspaceFile} does. */
  openFile: typeof openWorkspaceFile;
  /** Called when everything is closed, after the last message. */
  onClosed(): void;
}

/** The options that may change while a thread runs. */
export type ChangeableOptions = Pick<ThreadOptions, "quota" | "answerBytes" | "sealing" | "site">;

/** A request for the thread that owns its workspace. */
interface OperationMessage extends Omit<OperationRequest, "partTexts" | "isAbandoned"> {
  id: number;
  workspaceId: string;
  /** What another thread has found. */
  found?: JsonValue;
}

/** An event of the workspace itself, for the thread that appends it. */
interface EventMessage {
  id: number;
  workspaceId: string;
  event: WorkspaceEvent;
}

/** An operation or an event for a workspace thread to record. */
export type Recorded = OperationMessage | EventMessage;

/** Operations of one principal, whom the message names once; or events, which have no principal. */
export type OperationBatch =
  | { principal: Principal; operations: Omit<OperationMessage, "principal" | "workspaceId">[] }
  | { principal?: undefined; operations: EventMessage[] };

/** Operations as JSON, separated by commas, by principal; events under null. */
export type Texts = Map<Principal | null, string>;

/** Adds an operation or an event. @param text its JSON */
export function addText(texts: Texts, { principal, text }: { principal: Principal | null; text: string }): Texts {
  const before = texts.get(principal);
  return texts.set(principal, before === undefined ? text : `${before},${text}`);
}

/**
 * The JSON of principals, which every message includes. The principal of a key is one object while keys do not change.
 */
const principalTexts = new WeakMap<Principal, string>();

function principalText(principal: Principal): string {
  const known = principalTexts.get(principal);
  if (known !== undefined) return known;
  const text = JSON.stringify(principal);
  principalTexts.set(principal, text);
  return text;
}

/** Returns a list of {@link OperationBatch} as JSON. */
export function askedText(texts: Texts): string {
  let asked = "";
  for (const [principal, operations] of texts) {
    const by = principal === null ? "" : `"principal":${principalText(principal)},`;
    asked += `${asked === "" ? "" : ","}{${by}"operations":[${operations}]}`;
  }
  return `[${asked}]`;
}

/** Returns the operations, each with its workspace and its principal, and the events. */
export function recordedOf(asked: readonly OperationBatch[]): Recorded[] {
  const all: Recorded[] = [];
  for (const { principal, operations } of asked) {
    if (principal === undefined) all.push(...operations);
    else
      for (const operation of operations as OperationMessage[]) {
        operation.workspaceId = principal.workspaceId;
        operation.principal = principal;
        all.push(operation);
      }
  }
  return all;
}

/** Returns the approximate length of the text in a message, UTF-16 units. */
export function charactersOf(message: Recorded): number {
  if (!("input" in message)) return 0;
  if ("value" in message.input) return message.input.value.length;
  if (!("parts" in message.input)) return 0;
  return message.input.parts.reduce((sum, { input }) => sum + ("value" in input ? input.value.length : 0), 0);
}

/** Returns the number of operations in a message: the parts of a composite operation count. */
export const countOf = (message: Recorded): number =>
  "input" in message && "parts" in message.input ? message.input.parts.length : 1;

/**
 * Compacts a workspace. `state`: the state of the file that a copy was made of, which is to replace it; null to release
 * free pages in steps (compaction.ts).
 */
export type CompactMessage = { kind: "compact"; workspaceId: string };

/** To a workspace thread, which handles it after what it has begun. */
export type QueuedMessage =
  | { kind: "sweep"; workspaceIds: string[] }
  | { kind: "empty_logs"; workspaceIds: string[] }
  | { kind: "cosigned"; workspaceId: string; size: number; note: string }
  /** Stores how far sinks have come. */
  | { kind: "positions"; workspaceId: string; positions: readonly SinkPosition[] }
  /** Stores what a file has without an event. The thread says when it is on disk. */
  | { kind: "note"; id: number; workspaceId: string; note: Note }
  | ({ kind: "change" } & ChangeableOptions)
  | { kind: "close" };

/** To a workspace thread. */
export type ToWriter =
  /** `depth`: the number of operations, including these, that were sent to this thread and not yet answered. */
  | { kind: "operations"; depth: number; asked: OperationBatch[] }
  /** The next parts of the operation with this id, which follows them. */
  | { kind: "parts"; id: number; parts: OperationInputs[CompositeName]["parts"] }
  | CompactMessage
  | QueuedMessage;

/** An unexpected failure, without any text that could contain a client's value. */
export interface FailureReport {
  where: string;
  /** The error's class and code. */
  name: string;
  /** The frames of the error's stack, without its message. */
  frames: string[];
}

/** Something outside the process recovered. */
export interface RecoveryReport {
  where: string;
  /** The number of failures before the recovery. */
  failures: number;
}

/** Messages from every thread. */
export type FromThread =
  | { kind: "ready" }
  | { kind: "failure"; failure: FailureReport }
  | { kind: "recovery"; recovery: RecoveryReport }
  /** A message for the operator, without data of clients. */
  | { kind: "warning"; warning: string }
  /** The process may open no more files. */
  | { kind: "no_descriptors" }
  | { kind: "closed" };

/** Messages from a workspace thread, besides the replies (reply-text.ts). */
export type FromWriter =
  | FromThread
  | { kind: "sealed"; workspaceId: string; seal: StoredSeal }
  /** The workspace's file was opened, and continues the log that this thread knew. */
  | { kind: "opened"; workspaceId: string }
  /** The workspace's file cannot be used, or can again when `reason` is null. */
  | { kind: "trouble"; workspaceId: string; reason: string | null; trouble: StorageTrouble | null }
  /**
   * Rows of these tables may have changed, with whether the table has any now. Sent after the commit, after others have
   * written to the file, and when a workspace with sinks is opened.
   */
  | { kind: "rows"; workspaceId: string; tables: Partial<Record<RowTableName, boolean>> }
  /** The result of compacting a workspace. */
  | { kind: "compacted"; workspaceId: string; compacted: Compacted }
  /** A note is on disk; with a reason, it is not. */
  | { kind: "noted"; id: number; reason: string | null }
  /** The disk has no space to copy a write-ahead log back. */
  | { kind: "no_space" }
  /**
   * The file was replaced, or was opened while its disk refused writes. It can be used only after every thread has
   * closed it.
   */
  | { kind: "unwritable"; workspaceId: string };

/** A query of a reader thread. `partTexts`: the parts of a composite operation as JSON, if they are not in its input. */
export type Query = Omit<OperationMessage, "found"> & { partTexts?: readonly string[] };

/** Messages to a reader thread. */
export type ToReader =
  | { kind: "query"; query: Query }
  | { kind: "open"; id: number; workspaceId: string; plan: StreamPlan }
  | { kind: "pull"; id: number }
  | { kind: "cancel"; id: number }
  /** Closes the connections to a workspace that are not in use. */
  | { kind: "forget"; workspaceId: string }
  | { kind: "change"; site: Site }
  | { kind: "close" };

/** The result of a reader thread's lookup. */
export interface LookupResult {
  /** The result as JSON, since the main thread only passes it on. */
  found: string;
  /** The listed items, if they are not in `found`. The main thread inserts them into the answer. */
  items?: LongText;
}

/** Inserts the items that a reader thread listed into the reply of the workspace's thread. */
export function withItems(reply: Reply, found: LookupResult | undefined): Reply {
  const { answer } = reply;
  if (answer.kind !== "json" || answer.itemsAt === undefined) return reply;
  const { itemsAt, body, ...rest } = answer;
  const text = wholeText(body);
  const around = { start: text.slice(0, itemsAt), end: text.slice(itemsAt) };
  return { ...reply, answer: { ...rest, body: putAround(around, found?.items ?? "") } };
}

/** Messages from a reader thread. A chunk of a stream is sent as bytes, with the stream's id. */
export type FromReader =
  | FromThread
  | ({ kind: "found"; id: number } & LookupResult)
  | { kind: "answered"; id: number; reply: Reply }
  | { kind: "chunk"; id: number; bytes: Uint8Array }
  | { kind: "end"; id: number }
  | { kind: "broken"; id: number };

/** Errors of governd whose messages contain no data, and tell the operator what to do. */
const EXPLAINED = [
  SealRefused,
  Failure,
  EmbeddingError,
  UnknownSchema,
  MigrationFailed,
  EncryptionMismatch,
  DamagedWorkspace,
  MissingWorkspace,
  Unreachable,
] as const;

/** Describes an error for the log. Its message is left out, since it may repeat what a client sent. */
export function reportFailure(where: string, error: unknown): FailureReport {
  const { name, code, message } = error as { name?: unknown; code?: unknown; message?: unknown };
  if (EXPLAINED.some((kind) => error instanceof kind)) return { where, name: `${name}: ${message}`, frames: [] };
  const known = [name, code].filter((part) => typeof part === "string").join(" ");
  return { where, name: known || typeof error, frames: stackFrames(error) };
}

/** Returns the message that reports an error to the log. */
export const failureOf = (where: string, error: unknown): FromThread => ({
  kind: "failure",
  failure: reportFailure(where, error),
});
