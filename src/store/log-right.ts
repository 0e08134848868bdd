/**
 * The right to copy write-ahead logs back into their databases. SQLite before 3.51.3 loses commits when one process
 * copies a log back while another one starts it over (https://sqlite.org/wal.html#walresetbug), so one process at a time
 * has the right: the daemon as long as it runs, and without a daemon a command as long as it copies. A process without
 * it leaves what it wrote in the log, where everybody reads it.
 */

/** Takes the right until the returned object is disposed of; returns null when another process has it. */
export type TakeLogRight = () => Disposable | null;

/** The right of a process that has it anyhow. */
export const ALWAYS: TakeLogRight = () => ({ [Symbol.dispose]() {} });

/** The right of a connection beside the one that has it. */
export const NEVER: TakeLogRight = () => null;
