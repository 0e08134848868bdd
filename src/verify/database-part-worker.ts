/** A thread that verifies parts of a workspace's file, on a connection and in a snapshot of its own. */
import { setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import { isDriverError, openConnection } from "../store/connection.ts";
import { EncryptionKey } from "../store/encryption.ts";
import { type LogPart, type LogRange, verifyLogPart } from "./log-part.ts";
import type { PartMessage, PartResult } from "./part-threads.ts";
import { type EntryRange, type PackedEntries, readEntryPart } from "./rows/entry-part.ts";

/** What such a thread is made with. */
export interface DatabaseThreadData {
  path: string;
  immutable: boolean;
  /** As text. */
  encryptionKey: string | null;
  /** The thread gives way to others of this machine. */
  patient: boolean;
}

/** What it is asked: to look at the file as it is now, and at a part of it as it was then. */
export type DatabaseJob =
  | { kind: "snapshot" }
  | { kind: "log"; range: LogRange }
  | { kind: "entries"; range: EntryRange };

/** What it answers; null when not all is well. */
export type FoundInDatabase =
  | { kind: "snapshot" }
  | { kind: "log"; part: LogPart }
  | { kind: "entries"; entries: PackedEntries }
  | null;

const { path, immutable, encryptionKey, patient } = workerData as DatabaseThreadData;
/** How a thread ranks that gives way; 0 is usual, 19 the last. */
const PATIENT = 5;
// On Linux that is this thread's own rank; elsewhere it would be the whole process's.
if (patient && process.platform === "linux") setPriority(PATIENT);

// Whoever asks has the file open: it is not looked at by other means, which would end its locks.
const connection = openConnection(path, {
  ...(immutable ? { immutable } : { readOnly: true }),
  encryptionKey: encryptionKey === null ? null : EncryptionKey.ofText(encryptionKey),
  keyFits: true,
});

async function answer(job: DatabaseJob): Promise<FoundInDatabase> {
  if (job.kind === "log") {
    const part = await verifyLogPart(connection, job.range);
    return part && { kind: "log", part };
  }
  if (job.kind === "entries") {
    const part = await readEntryPart(connection, job.range);
    return part && { kind: "entries", entries: part.entries };
  }
  if (connection.inTransaction) connection.exec("ROLLBACK");
  connection.exec("BEGIN");
  connection.get("SELECT seq FROM head"); // a snapshot is made when it is first read from
  return { kind: "snapshot" };
}

/** What the file itself keeps from being read is for one thread to find, and to put into words. */
async function answerUnlessDamaged(job: DatabaseJob): Promise<FoundInDatabase> {
  try {
    return await answer(job);
  } catch (error) {
    if (!isDriverError(error)) throw error;
    return null;
  }
}

/** What goes over to the other thread without being copied. */
function buffersOf(found: FoundInDatabase): ArrayBuffer[] {
  if (found === null || found.kind === "snapshot") return [];
  if (found.kind === "entries") {
    const { numbers, ends, bytes } = found.entries;
    return [numbers.buffer, ends.buffer, bytes.buffer];
  }
  const { numbers, places, bytes } = found.part.writes;
  return [numbers.buffer, places.buffer, bytes.buffer];
}

parentPort?.on("message", async (message: PartMessage<DatabaseJob>) => {
  if (message === null) {
    connection.close();
    parentPort?.close();
    return;
  }
  const result = await answerUnlessDamaged(message.job);
  const reply: PartResult<FoundInDatabase> = { id: message.id, result };
  parentPort?.postMessage(reply, buffersOf(result));
});
