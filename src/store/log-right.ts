/**
 * The right to copy write-ahead logs back into their databases. SQLite before 3.51.3 loses commits when one process
 * copies a log back while another one restarts it (https://sqlite.org/wal.html#walresetbug), so only one process at a
 * time has the right: the daemon while it runs, otherwise a command while it copies. A process without the right leaves
 * its commits in the log, where all processes read them.
 */

/** Takes the right until the returned object is disposed of; returns null when another process has it. */
export type TakeLogRight = () => Disposable | null;

/** For a process that already has the right. */
export const ALWAYS: TakeLogRight = () => ({ [Symbol.dispose]() {} });

/** For a connection that must not copy the log back. */
export const NEVER: TakeLogRight = () => null;
