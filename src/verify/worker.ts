/** A thread that verifies parts of an export, or of a workspace's file with its own connection and snapshot. */
import { setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import { type Connection, openConnection } from "../store/connection.ts";
import { isDriverError } from "../store/damage.ts";
import { EncryptionKey } from "../store/encryption.ts";
import { ExportPart, type PartOptions } from "./events/export-lines.ts";
import { type FileRange, linesOf } from "./events/lines.ts";
import type { Segment } from "./events/segment.ts";
import { type LogPart, type LogRange, verifyLogPart } from "./log-part.ts";
import { type EntryRange, type PackedEntries, readEntryPart } from "./rows/entry-part.ts";
import { checkFile, type FileCheck } from "./rows/schema.ts";

/** The database that a thread opens at its start; null when it is to verify exports. */
export type ThreadData = {
  path: string;
  immutable: boolean;
  /** As text. */
  encryptionKey: string | null;
  /** The thread runs with low priority. */
  patient: boolean;
} | null;

/** Requests to a thread: to take a snapshot of the database, to check its indexes, or to verify a part. */
export type PartJob =
  | { kind: "snapshot" }
  | { kind: "file" }
  | { kind: "log"; range: LogRange }
  | { kind: "entries"; range: EntryRange }
  | { kind: "export"; path: string; range: FileRange; options: PartOptions };

/** What a thread found; null when anything is not valid, so that the plain path has to look at it. */
export type FoundPart =
  | { kind: "snapshot" }
  | { kind: "file"; check: FileCheck }
  | { kind: "log"; part: LogPart }
  | { kind: "entries"; entries: PackedEntries }
  | { kind: "export"; segment: Segment }
  | null;

/** What a thread is sent: a part to verify, or null when it is to end. */
export type PartMessage = { id: number; job: PartJob } | null;

/** What it returns. */
export interface PartResult {
  id: number;
  result: FoundPart;
}

/** The nice value of a low-priority thread; 0 is usual, 19 the lowest priority. */
const PATIENT = 5;

const database = open(workerData as ThreadData);

function open(data: ThreadData): Connection | null {
  if (data === null) return null;
  const { path, immutable, encryptionKey, patient } = data;
  // On Linux that is this thread's own priority; elsewhere it would be the whole process's.
  if (patient && process.platform === "linux") setPriority(PATIENT);
  // The asking thread has the file open, so the key was checked. Another open and close would drop its locks.
  return openConnection(path, {
    ...(immutable ? { immutable } : { readOnly: true }),
    encryptionKey: encryptionKey === null ? null : EncryptionKey.ofText(encryptionKey),
    keyFits: true,
  });
}

async function verify(job: PartJob): Promise<FoundPart> {
  if (job.kind === "export") return verifyLines(job);
  if (database === null) throw new Error("a thread without a database is asked for a part of one");
  switch (job.kind) {
    case "snapshot":
      if (database.inTransaction) database.exec("ROLLBACK");
      database.exec("BEGIN");
      database.get("SELECT seq FROM head"); // SQLite makes the snapshot at the first read
      return { kind: "snapshot" };
    case "file":
      return { kind: "file", check: await checkFile(database) };
    case "log": {
      const part = await verifyLogPart(database, job.range);
      return part && { kind: "log", part };
    }
    case "entries": {
      const part = await readEntryPart(database, job.range);
      return part && { kind: "entries", entries: part.entries };
    }
  }
}

function verifyLines({ path, range, options }: Extract<PartJob, { kind: "export" }>): FoundPart {
  const part = new ExportPart(options);
  for (const piece of linesOf(path, range)) if (!part.push(piece)) break;
  const segment = part.segment();
  return segment && { kind: "export", segment };
}

/** A database that cannot be read is for the plain path to diagnose. */
async function verifyUnlessDamaged(job: PartJob): Promise<FoundPart> {
  try {
    return await verify(job);
  } catch (error) {
    if (!isDriverError(error)) throw error;
    return null;
  }
}

/** The buffers that move to the other thread without being copied. */
function buffersOf(found: FoundPart): ArrayBuffer[] {
  if (found?.kind === "entries") {
    const { numbers, ends, bytes } = found.entries;
    return [numbers.buffer, ends.buffer, bytes.buffer];
  }
  if (found?.kind !== "log") return [];
  const { numbers, places, bytes } = found.part.writes;
  return [numbers.buffer, places.buffer, bytes.buffer];
}

parentPort?.on("message", async (message: PartMessage) => {
  if (message === null) {
    database?.close();
    parentPort?.close();
    return;
  }
  const result = await verifyUnlessDamaged(message.job);
  parentPort?.postMessage({ id: message.id, result } satisfies PartResult, buffersOf(result));
});
