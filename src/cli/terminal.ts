/** The output of a command: results go to standard output, everything else to standard error. */

import { Unreachable } from "../core/writer/storage-failure.ts";
import { NamespaceMissing } from "../engine-libsql/copy-errors.ts";
import { EXIT, Failure, systemCode, systemReason } from "../failure.ts";
import { EncryptionMismatch } from "../store/encryption.ts";

/** The two streams of a process. A write resolves when the bytes are handed over, so none is lost at exit. */
export interface Terminal {
  out(text: string): Promise<void>;
  err(text: string): Promise<void>;
  /** Whether standard error is an interactive terminal. */
  interactive: boolean;
}

/** Returns the terminal of this process. A reader that went away (`governd … | head`) is not an error. */
export function processTerminal(): Terminal {
  const write = (stream: NodeJS.WriteStream, text: string) =>
    new Promise<void>((resolve, reject) => {
      stream.write(text, (error) => {
        const gone = error && "code" in error && error.code === "EPIPE";
        if (error && !gone) reject(error);
        else resolve();
      });
    });
  return {
    out: (text) => write(process.stdout, text),
    err: (text) => write(process.stderr, text),
    interactive: process.stderr.isTTY === true,
  };
}

/** The system's error codes for a path that is of the wrong kind, missing, or not allowed. */
const PATH_CODES: ReadonlySet<string> = new Set(
  "ENOENT ENOTDIR EISDIR EACCES EPERM ELOOP ENAMETOOLONG EROFS ENXIO".split(" "),
);

/** Returns the failure for a path that cannot be used, and null for any other error. */
function pathFailure(error: unknown): Failure | null {
  const code = systemCode(error);
  const path = error instanceof Error && "path" in error ? error.path : undefined;
  if (code === undefined || !PATH_CODES.has(code) || typeof path !== "string") return null;
  return new Failure("path_unusable", `Cannot use ${path}: ${systemReason(error)}.`, { cause: error });
}

/** Returns the failure to show to the person who ran the command, and the error itself when it is a defect. */
function explained(error: unknown): unknown {
  if (error instanceof EncryptionMismatch) return new Failure("encryption_key", error.message);
  if (error instanceof Unreachable || error instanceof NamespaceMissing) {
    const advice = "Remove the cause, then run the command again.";
    return new Failure("engine_unavailable", `The engine cannot be used now: ${error.message}. ${advice}`, {
      cause: error,
    });
  }
  return pathFailure(error) ?? error;
}

/** Prints why a command failed and returns its exit code. */
export async function printFailure(terminal: Terminal, json: boolean, thrown: unknown): Promise<number> {
  const error = explained(thrown);
  const known = error instanceof Failure;
  // Any other error is a defect of the program: a bug report needs its stack trace.
  if (!known) await terminal.err(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  const bug = { code: "internal", message: "This is a bug in governd. Please report it with the lines above." };
  const { code, message } = known ? error : bug;
  await terminal.err(json ? `${JSON.stringify({ error: { code, message } })}\n` : `governd: ${message}\n`);
  return EXIT.trouble;
}

/** Returns a table with aligned columns, one line per row. `rows` do not include the heading; no rows give `empty`. */
export function table(heading: readonly string[], rows: readonly (readonly string[])[], empty?: string): string[] {
  if (rows.length === 0 && empty !== undefined) return [empty];
  const all = [heading, ...rows];
  const widths = heading.map((_, column) => Math.max(...all.map((row) => (row[column] ?? "").length)));
  return all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

/** Returns a number with its noun: `1 event`, `1,234 events`. */
export const count = (number: number, noun: string): string =>
  `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

/** Returns a number of bytes in MiB, with one decimal. */
export const mebibytes = (bytes: number): string => `${(bytes / 1024 ** 2).toFixed(1)} MiB`;

/** Returns a time as the API writes it, or null. */
export function moment(ms: number): string;
export function moment(ms: number | null): string | null;
export function moment(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
