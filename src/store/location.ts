/**
 * Where a database is: in its file, on a server of which the file is a copy, or on its way to a server. The file's
 * header says which (SQLite's `application_id`).
 */
import type { Connection } from "./connection.ts";

/** The file is the database. */
export const EMBEDDED = 0;
/**
 * The file is being moved to a server, and nobody writes to it until `governd migrate` has ended. Any other number is a
 * copy.
 */
export const MOVING = -1;

/**
 * The format of a namespace that is closed, since its database was moved back to a file: newer than that of any node.
 */
export const CLOSED_FORMAT = 2 ** 31 - 1;

export const locationOf = (connection: Connection): number =>
  connection.value<number>("PRAGMA application_id") as number;

/** Marks the file as the database. */
export const markEmbedded = (connection: Connection): void => connection.exec(`PRAGMA application_id = ${EMBEDDED}`);
