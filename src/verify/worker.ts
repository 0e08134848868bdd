/**
 * A thread that verifies parts of an export, or parts of a workspace's file on its own connection in its own snapshot.
 */
import { parentPort, workerData } from "node:worker_threads";
import { type Connection, openConnection } from "../store/connection.ts";
import { isDriverError } from "../store/damage.ts";
import { EncryptionKey } from "../store/encryption.ts";
import { BEHIND, runBehind } from "../thread-priority.ts";
import { ExportPart, type PartOptions } from "./events/export-lines.ts";
import { type FileRange, linesOf } from "./events/lines.ts";
import { type LogRange, verifyLogPart } from "./log-part.ts";
import { checkFile } from "./rows/schema.ts";

/** The database that a thread opens at its start; null when it is to verify exports. */
export type ThreadData = {
  path: string;
  immutable: boolean;
  /** The key's text. */
  encryptionKey: string | null;
  /** Whether the thread runs with low priority. */
  patient: boolean;
} | null;

/** The work of threads. Each kind returns null when anything is not valid, so that the plain path must diagnose it. */
const WORK = {
  /** Takes a snapshot of the database. */
  snapshot(database: Connection, _: null) {
    if (database.inTransaction) database.exec("ROLLBACK");
    database.exec("BEGIN");
    database.get("SELECT seq FROM head"); // SQLite makes the snapshot at the first read
    return true;
  },
  file: (database: Connection, _: null) => checkFile(database),
  log: (database: Connection, range: LogRange) => verifyLogPart(database, range),
  export(_: unknown, { path, range, options }: { path: string; range: FileRange; options: PartOptions }) {
    const part = new ExportPart(options);
    for (const piece of linesOf(path, range)) if (!part.push(piece)) break;
    return part.segment();
  },
};

export type Work = typeof WORK;
/** The input and the result of each kind of work. The result is null when the plain path must diagnose the part. */
export type WorkInput<K extends keyof Work> = Parameters<Work[K]>[1];
export type WorkResult<K extends keyof Work> = Awaited<ReturnType<Work[K]>> | null;

/** A message to a thread: work, or null to end it. */
export type PartMessage = { [K in keyof Work]: { id: number; kind: K; asked: WorkInput<K> } }[keyof Work] | null;
export interface PartResult {
  id: number;
  result: WorkResult<keyof Work>;
}

const database = open(workerData as ThreadData);

function open(data: ThreadData): Connection | null {
  if (data === null) return null;
  const { path, immutable, encryptionKey, patient } = data;
  if (patient) runBehind(BEHIND.verifying);
  // The asking thread has the file open, so the key was checked. Checking again would open and close the file, which
  // releases that thread's locks.
  return openConnection(path, {
    ...(immutable ? { immutable } : { readOnly: true }),
    encryptionKey: encryptionKey === null ? null : EncryptionKey.ofText(encryptionKey),
    keyFits: true,
  });
}

/** Does the work. Returns null when the database cannot be read, which the plain path diagnoses. */
async function workUnlessDamaged({ kind, asked }: NonNullable<PartMessage>): Promise<WorkResult<keyof Work>> {
  try {
    return await WORK[kind](database as Connection, asked as never);
  } catch (error) {
    if (!isDriverError(error)) throw error;
    return null;
  }
}

parentPort?.on("message", async (message: PartMessage) => {
  if (message === null) {
    database?.close();
    parentPort?.close();
    return;
  }
  const result = await workUnlessDamaged(message);
  parentPort?.postMessage({ id: message.id, result } satisfies PartResult);
});
