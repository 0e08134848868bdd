/** Threads that verify parts of a workspace's file, all in the snapshot in which the asking thread reads. */
import { type Connection, openConnection } from "../store/connection.ts";
import type { DatabaseJob, DatabaseThreadData, FoundInDatabase } from "./database-part-worker.ts";
import { PartThreads } from "./part-threads.ts";

export type DatabaseThreads = PartThreads<DatabaseJob, FoundInDatabase>;

/** How often a moment is sought in which nobody writes. */
const MAX_ATTEMPTS = 50;

/**
 * Has work done while threads read the file in the same snapshot as `connection`, which has a transaction as
 * long. Null without having done it when somebody writes so often that no two connections see the same.
 *
 * @param patient whether the threads give way to others
 * @throws {Failure} `evidence_unreadable` when a thread dies
 */
export async function withThreads<T>(
  connection: Connection,
  { count, patient }: { count: number; patient: boolean },
  work: (threads: DatabaseThreads) => Promise<T>,
): Promise<T | null> {
  if (connection.file === null) return null;
  const { path, options } = connection.file;
  const data: DatabaseThreadData = {
    path,
    patient,
    immutable: options.immutable ?? false,
    encryptionKey: options.encryptionKey?.reveal() ?? null,
  };
  using threads: DatabaseThreads = new PartThreads(count, "verify/database-part-worker.ts", data);
  try {
    return (await beginTogether(connection, threads)) ? await work(threads) : null;
  } finally {
    if (connection.inTransaction) connection.exec("ROLLBACK");
    await threads.end();
  }
}

/** Begins a transaction on all connections; false when there was a commit between them again and again. */
async function beginTogether(connection: Connection, threads: DatabaseThreads): Promise<boolean> {
  const { path, options } = connection.file as NonNullable<Connection["file"]>;
  // What it says of others' commits changes with each: https://www.sqlite.org/pragma.html#pragma_data_version
  using witness = openConnection(path, { ...options, keyFits: true });
  const version = () => witness.get<[number]>("PRAGMA data_version")?.[0];
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const before = version();
    connection.exec("BEGIN");
    connection.get("SELECT seq FROM head");
    const begun = await threads.askAll({ kind: "snapshot" });
    // What keeps one of them from reading is for the asking thread to meet.
    if (begun.includes(null)) return false;
    if (version() === before) return true;
    connection.exec("ROLLBACK");
  }
  return false;
}
