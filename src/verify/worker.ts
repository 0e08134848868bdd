/** A thread that verifies parts of an export, or of a workspace's file with its own connection and snapshot. */
import { parentPort, workerData } from "node:worker_threads";
import { type Connection, openConnection } from "../store/connection.ts";
import { isDriverError } from "../store/damage.ts";
import { EncryptionKey } from "../store/encryption.ts";
import { BEHIND, runBehind } from "../thread-priority.ts";
import { ExportPart, type PartOptions } from "./events/export-lines.ts";
import { type FileRange, linesOf } from "./events/lines.ts";
import { type LogRange, verifyLogPart } from "./log-part.ts";
import { type EntryRange, readEntryPart } from "./rows/entry-part.ts";
import { checkFile } from "./rows/schema.ts";

/** The database that a thread opens at its start; null when it is to verify exports. */
export type ThreadData = {
  path: string;
  immutable: boolean;
  /** As text. */
  encryptionKey: string | null;
  /** The thread runs with low priority. */
  patient: boolean;
} | null;

/** What threads do. Each returns null when anything is not valid, so that the plain path has to look at it. */
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
  entries: async (database: Connection, range: EntryRange) => (await readEntryPart(database, range))?.entries ?? null,
  export(_: unknown, { path, range, options }: { path: string; range: FileRange; options: PartOptions }) {
    const part = new ExportPart(options);
    for (const piece of linesOf(path, range)) if (!part.push(piece)) break;
    return part.segment();
  },
};

export type Work = typeof WORK;
/** What is said of a part, and what a thread finds; null when the plain path has to look at it. */
export type Asked<K extends keyof Work> = Parameters<Work[K]>[1];
export type Found<K extends keyof Work> = Awaited<ReturnType<Work[K]>> | null;

/** What a thread is sent: work, or null when it is to end. */
export type PartMessage = { [K in keyof Work]: { id: number; kind: K; asked: Asked<K> } }[keyof Work] | null;
export interface PartResult {
  id: number;
  result: Found<keyof Work>;
}

const database = open(workerData as ThreadData);

function open(data: ThreadData): Connection | null {
  if (data === null) return null;
  const { path, immutable, encryptionKey, patient } = data;
  if (patient) runBehind(BEHIND.verifying);
  // The asking thread has the file open, so the key was checked. Another open and close would drop its locks.
  return openConnection(path, {
    ...(immutable ? { immutable } : { readOnly: true }),
    encryptionKey: encryptionKey === null ? null : EncryptionKey.ofText(encryptionKey),
    keyFits: true,
  });
}

/** A database that cannot be read is for the plain path to diagnose. */
async function workUnlessDamaged({ kind, asked }: NonNullable<PartMessage>): Promise<Found<keyof Work>> {
  try {
    return await WORK[kind](database as Connection, asked as never);
  } catch (error) {
    if (!isDriverError(error)) throw error;
    return null;
  }
}

/** The buffers of packed writes and entries, which move to the other thread without being copied. */
function buffersOf(found: Found<keyof Work>): ArrayBuffer[] {
  const packed = typeof found === "object" && found !== null && "writes" in found ? found.writes : found;
  return Object.values(packed ?? {}).flatMap((member) =>
    ArrayBuffer.isView(member) ? [member.buffer as ArrayBuffer] : [],
  );
}

parentPort?.on("message", async (message: PartMessage) => {
  if (message === null) {
    database?.close();
    parentPort?.close();
    return;
  }
  const result = await workUnlessDamaged(message);
  parentPort?.postMessage({ id: message.id, result } satisfies PartResult, buffersOf(result));
});
