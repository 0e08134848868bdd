/**
 * Moves a database from a namespace of a libSQL server to the file that is this node's copy of it. The copy is brought
 * up to date while nodes write. Then writers wait: a last commit closes the namespace for all nodes, and the file is
 * marked as the database. A process that is killed between the two leaves the namespace closed; the next run finds it
 * closed, and marks the file.
 */
import { existsSync } from "node:fs";
import { WORKSPACE_MIGRATIONS, WORKSPACE_SCHEMA } from "../../core/writer/file.ts";
import { Failure } from "../../failure.ts";
import type { Connection } from "../../store/connection.ts";
import type { EncryptionKey } from "../../store/encryption.ts";
import { CLOSED_FORMAT, EMBEDDED, locationOf, markEmbedded } from "../../store/location.ts";
import { NEVER } from "../../store/log-right.ts";
import { openMigrated, UnknownSchema } from "../../store/migrate.ts";
import { syncFile } from "../../store/sync.ts";
import { WorkingCopy } from "../copy.ts";
import type { Namespace } from "../namespace.ts";

/** How often closing the namespace is tried. It fails when another node has written since the copy was up to date. */
const MOST_RACES = 50;

interface MoveToFileParts {
  database: string;
  encryptionKey: EncryptionKey | null;
  namespace: Namespace;
}

/**
 * Makes the file the database. Returns how long writers waited, ms; null when the file is the database already.
 * @throws {Failure} `busy` when other nodes write to the namespace without a pause
 */
export async function moveToFile(parts: MoveToFileParts): Promise<number | null> {
  const { database, encryptionKey, namespace } = parts;
  using connection = openMigrated(database, WORKSPACE_MIGRATIONS, { encryptionKey, takeLogRight: NEVER });
  // A node may have no copy yet, or an empty one that it had no time to fill.
  const isEmpty = connection.value("SELECT 1 FROM head") === undefined;
  if (!isEmpty && locationOf(connection) === EMBEDDED) return null;
  // With this format the copy also reads a namespace that an interrupted move closed.
  const copy = new WorkingCopy(connection, namespace, { format: CLOSED_FORMAT });
  for (let race = 0; race < MOST_RACES; race++) {
    copy.doubt();
    await copy.refresh();
    connection.exec("PRAGMA synchronous = FULL");
    await connection.beginWhenFree();
    const begun = performance.now();
    try {
      if (await close(namespace, copy)) {
        settle(connection, database);
        return performance.now() - begun;
      }
    } finally {
      if (connection.inTransaction) connection.exec("ROLLBACK");
    }
  }
  throw new Failure("busy", "Other nodes write to the workspace all the time. Stop them, and run the command again.");
}

/**
 * Closes a namespace if the copy shows its newest commit, which this node may have made a moment ago. Reports whether
 * the namespace is closed.
 * @throws {UnknownSchema} when the namespace has a newer schema
 */
async function close(namespace: Namespace, copy: WorkingCopy): Promise<boolean> {
  const state = await namespace.state();
  if (state === null || !copy.shows(state.number)) return false;
  if (state.format === CLOSED_FORMAT) return true;
  if (state.format > WORKSPACE_SCHEMA) throw new UnknownSchema(state.format, WORKSPACE_SCHEMA);
  const last = { number: state.number + 1, format: CLOSED_FORMAT, changed: "{}", guards: [] };
  const outcome = await namespace.commit(last, []);
  if (outcome === "unknown") await namespace.settled();
  return outcome === "committed" || (await namespace.state())?.format === CLOSED_FORMAT;
}

/**
 * Marks the file as the database. A copy may be written without a sync, but a database must be on disk: it is synced
 * first.
 */
function settle(connection: Connection, database: string): void {
  for (const path of [database, `${database}-wal`]) if (existsSync(path)) syncFile(path);
  markEmbedded(connection);
  connection.exec("COMMIT");
}
