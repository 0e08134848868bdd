/**
 * Where the truth about a database is, which its file says in its header (SQLite's `application_id`): in the file itself, on
 * a server of whose database it is a copy, or on its way there.
 */
import type { Connection } from "./connection.ts";

/** The file is the database. */
export const AT_HOME = 0;
/** The file is being moved to a server: nobody writes to it until `governd migrate` has ended. Any other number is a copy. */
export const LEAVING = -1;

/** The schema of a namespace to which nobody writes any more, since its database went home: newer than every node. */
export const CLOSED_FORMAT = 2 ** 31 - 1;

export const placeOf = (connection: Connection): number => connection.value<number>("PRAGMA application_id") as number;

/** The file is the database from now on. */
export const settleAtHome = (connection: Connection): void => connection.exec(`PRAGMA application_id = ${AT_HOME}`);
