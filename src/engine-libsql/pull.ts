/** Copies a namespace into a new file. */
import { openConnection } from "../store/connection.ts";
import type { EncryptionKey } from "../store/encryption.ts";
import { CLOSED_FORMAT } from "../store/location.ts";
import {
  type Migration,
  migrate,
  migrationsUpTo,
  newestSchema,
  otherGovernd,
  UnknownSchema,
} from "../store/migrate.ts";
import { removeDatabase } from "../store/remove.ts";
import { WorkingCopy } from "./copy.ts";
import { NamespaceMissing, UnknownNamespace } from "./copy-errors.ts";
import type { Namespace } from "./namespace.ts";

export interface PullParts {
  namespace: Namespace;
  /** All migrations of the database that this program knows. */
  migrations: readonly Migration[];
  encryptionKey: EncryptionKey | null;
}

/** The state of a file that was pulled. */
interface Pulled {
  /** The number of the newest commit in the file. */
  number: number;
  /** The version of the schema. */
  format: number;
}

/**
 * Makes a file with the rows and the schema of a namespace, which may be closed. The rows are not verified.
 * @throws {ServerUnavailable}; {NamespaceMissing}; {UnknownSchema}
 */
export async function pullAsIs(path: string, parts: PullParts): Promise<Pulled> {
  for (;;) {
    try {
      return await pullOnce(path, parts);
    } catch (error) {
      removeDatabase(path);
      // Another node has upgraded the namespace meanwhile.
      if (!(error instanceof UnknownNamespace)) throw error;
    }
  }
}

async function pullOnce(path: string, { namespace, migrations, encryptionKey }: PullParts): Promise<Pulled> {
  const state = await namespace.state();
  if (state === null) throw new NamespaceMissing(`the namespace ${namespace.name} on the libSQL server is empty`);
  const { format } = state;
  const newest = newestSchema(migrations);
  if (format !== CLOSED_FORMAT && otherGovernd(format, newest) !== null) throw new UnknownSchema(format, newest);
  using connection = openConnection(path, { encryptionKey });
  migrate(connection, migrationsUpTo(format, migrations));
  const copy = new WorkingCopy(connection, namespace, { format });
  await copy.refresh();
  return { number: copy.number, format };
}
