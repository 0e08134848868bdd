/**
 * What the main thread and the others say to each other. Groups of operations and of replies travel as one JSON text
 * each: one message per burst, and cheaper to pass between threads than objects.
 */
import { Failure, stackFrames } from "../failure.ts";
import type { Quota } from "../features/data/quota.ts";
import type { Clock, RandomPool } from "../ids.ts";
import type { JsonValue } from "../json.ts";
import { type LongText, putAround, wholeText } from "../long-text.ts";
import type { CompositeName, OperationInputs, OperationName } from "../operations.ts";
import type { SealingOptions } from "../seals/options.ts";
import { SealRefused } from "../seals/sealer.ts";
import { EmbeddingError } from "../search/vectors/embedder.ts";
import type { EmbeddingOptions } from "../search/vectors/embedding-options.ts";
import type { ServerOptions } from "../settings/server-options.ts";
import type { StoredSeal } from "../state/seals.ts";
import type { Compacted } from "../store/compaction.ts";
import { EncryptionMismatch } from "../store/encryption.ts";
import { MigrationFailed, NewerDatabase } from "../store/migrate.ts";
import type { Timer } from "../timer.ts";
import type { Principal, Reply, Retry, StreamPlan, Via, WorkspaceEvent } from "../workspace/contract.ts";
import type { openWorkspaceFile } from "../workspace/file.ts";
import { DamagedWorkspace, MissingWorkspace, type StorageTrouble, Unreachable } from "../workspace/storage-failure.ts";
import type { OpenLimits } from "./descriptors.ts";

/** How a thread is set up; passed as its worker data. */
export interface ThreadOptions {
  /** Directory of the workspace files. */
  workspacesDir: string;
  /** The control database, with whose rows a verification compares a log; null in a program without one. */
  controlFile: string | null;
  /** The key of their files, as {@link EncryptionKey} reveals it; null when they are not encrypted. */
  encryptionKey: string | null;
  /** The libSQL server that has the workspaces; null when the files have them. */
  server: ServerOptions | null;
  /** Added to the system clock, ms: tests move time with it. */
  clockOffsetMs: number;
  /** What the search indexes of one thread may occupy, bytes. */
  searchMemoryBytes: number;
  /** Agents with more live entries are searched by full text. */
  fullTextFrom: number;
  /** The model outside that search uses too; null for none. */
  embeddings: EmbeddingOptions | null;
  /** What one workspace may hold; null for as much as it likes. */
  quota: Quota | null;
  /** Bytes of answers that one workspace may store for retries; 0 for no limit. */
  answerBytes: number;
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
  /** How far the thread is behind those that answer requests ({@link BEHIND}). */
  behind: number;
}

/** What a workspace thread is surrounded by: its time, its files, and the channel to the main thread. */
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

/** Those that may change while a thread runs. */
export type ChangeableOptions = Pick<ThreadOptions, "quota" | "answerBytes" | "sealing">;

/** One operation on its way to the thread that owns its workspace. */
interface OperationMessage {
  id: number;
  workspaceId: string;
  name: OperationName;
  input: OperationInputs[OperationName];
  principal: Principal;
  via?: Via;
  retry?: Retry;
  lookedAt?: number;
  /** What the reader thread found, for an inquiry. */
  found?: JsonValue;
}

/** An event of the workspace itself on its way to the thread that appends it. */
interface EventMessage {
  id: number;
  workspaceId: string;
  event: WorkspaceEvent;
}

/** What a workspace thread is asked to record. */
export type Recorded = OperationMessage | EventMessage;

/** Returns about how much text a message brings, UTF-16 units. */
export function charactersOf(message: Recorded): number {
  if (!("input" in message)) return 0;
  if ("value" in message.input) return message.input.value.length;
  if (!("parts" in message.input)) return 0;
  return message.input.parts.reduce((sum, { input }) => sum + ("value" in input ? input.value.length : 0), 0);
}

/** Returns how many operations a message asks for. */
export const countOf = (message: Recorded): number =>
  "input" in message && "parts" in message.input ? message.input.parts.length : 1;

/** `state`: of the file whose copy is to replace it; null to give free pages back in steps (compaction.ts). */
export type CompactMessage = { kind: "compact"; workspaceId: string; state: string | null };

/** To a workspace thread. */
export type ToWriter =
  /** `depth`: how many operations this thread is asked for and has not answered, these included. */
  | { kind: "operations"; depth: number; operations: Recorded[] }
  /** The next parts of the operation with this id, which follows them. */
  | { kind: "parts"; id: number; parts: OperationInputs[CompositeName]["parts"] }
  | { kind: "sweep"; workspaceIds: string[] }
  | { kind: "empty_logs"; workspaceIds: string[] }
  | CompactMessage
  | { kind: "cosigned"; workspaceId: string; size: number; note: string }
  | ({ kind: "change" } & ChangeableOptions)
  | { kind: "close" };

/** An unexpected failure, without any text that could hold a value. */
export interface FailureReport {
  where: string;
  /** The error's class and code. */
  name: string;
  /** Its stack frames, without the message. */
  frames: string[];
}

/** Something outside the process recovered. */
export interface RecoveryReport {
  where: string;
  /** How often it failed in between. */
  failures: number;
}

/** From every thread. */
export type FromThread =
  | { kind: "ready" }
  | { kind: "failure"; failure: FailureReport }
  | { kind: "recovery"; recovery: RecoveryReport }
  /** Something that the operator should know, in words without data. */
  | { kind: "warning"; warning: string }
  /** The process may open no more files. */
  | { kind: "no_descriptors" }
  | { kind: "closed" };

/** From a workspace thread, besides the replies (reply-text.ts). */
export type FromWriter =
  | FromThread
  | { kind: "sealed"; workspaceId: string; seal: StoredSeal }
  /** The workspace's file cannot be used, or can again when `reason` is null. */
  | { kind: "trouble"; workspaceId: string; reason: string | null; trouble: StorageTrouble | null }
  /** A workspace was compacted, as far as `compacted` says. */
  | { kind: "compacted"; workspaceId: string; compacted: Compacted }
  /** The disk has no space to copy a write-ahead log back. */
  | { kind: "no_space" }
  /** The file can be used again only when nobody has it open: it was opened while its disk took no writes, or replaced. */
  | { kind: "unwritable"; workspaceId: string };

/** To a reader thread. */
export type ToReader =
  | { kind: "query"; query: Omit<OperationMessage, "found"> }
  | { kind: "open"; id: number; workspaceId: string; plan: StreamPlan }
  | { kind: "pull"; id: number }
  | { kind: "cancel"; id: number }
  /** Closes what is open of a workspace and not in use. */
  | { kind: "forget"; workspaceId: string }
  | { kind: "close" };

/** What a reader thread found. */
export interface Found {
  /** As JSON, since the main thread only passes it on. */
  found: string;
  /** What it lists, if that is not in `found`: the main thread puts it into the answer. */
  items?: LongText;
}

/** Puts what a reader thread listed into the reply of the workspace's thread. */
export function withItems(reply: Reply, found: Found | undefined): Reply {
  const { answer } = reply;
  if (answer.kind !== "json" || answer.itemsAt === undefined) return reply;
  const { itemsAt, body, ...rest } = answer;
  const text = wholeText(body);
  const around = { start: text.slice(0, itemsAt), end: text.slice(itemsAt) };
  return { ...reply, answer: { ...rest, body: putAround(around, found?.items ?? "") } };
}

/** From a reader thread. A chunk of a stream travels as bytes beside its id. */
export type FromReader =
  | FromThread
  | ({ kind: "found"; id: number } & Found)
  | { kind: "answered"; id: number; reply: Reply }
  | { kind: "chunk"; id: number; bytes: Uint8Array }
  | { kind: "end"; id: number }
  | { kind: "broken"; id: number };

/** Failures whose messages are ours, hold no data, and tell the operator what to do. */
const EXPLAINED = [
  SealRefused,
  Failure,
  EmbeddingError,
  NewerDatabase,
  MigrationFailed,
  EncryptionMismatch,
  DamagedWorkspace,
  MissingWorkspace,
  Unreachable,
] as const;

/** An error for the log. Its message is left out: it may repeat what a client sent. */
export function reportFailure(where: string, error: unknown): FailureReport {
  const { name, code, message } = error as { name?: unknown; code?: unknown; message?: unknown };
  if (EXPLAINED.some((kind) => error instanceof kind)) return { where, name: `${name}: ${message}`, frames: [] };
  const known = [name, code].filter((part) => typeof part === "string").join(" ");
  return { where, name: known || typeof error, frames: stackFrames(error) };
}

/** The message that brings an error to the log. */
export const failureOf = (where: string, error: unknown): FromThread => ({
  kind: "failure",
  failure: reportFailure(where, error),
});
