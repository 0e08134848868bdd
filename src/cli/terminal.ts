/** What a command writes to: results to standard output, everything else to standard error. */
import { EXIT, Failure } from "../failure.ts";
import { EncryptionMismatch } from "../store/encryption.ts";

/** The two streams of a process. Writing returns when the bytes are handed over, so that none is lost at exit. */
export interface Terminal {
  out(text: string): Promise<void>;
  err(text: string): Promise<void>;
  /** True when standard error is a person's terminal. */
  interactive: boolean;
}

/** The terminal of this process. A reader that went away (`governd … | head`) is no error. */
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

/** Prints a result: one JSON value with `--json`, the given lines otherwise. */
export async function printResult(
  terminal: Terminal,
  json: boolean,
  value: unknown,
  lines: readonly string[],
) {
  await terminal.out(json ? `${JSON.stringify(value)}\n` : `${lines.join("\n")}\n`);
}

/** Prints why a command failed and answers its exit code. */
export async function printFailure(terminal: Terminal, json: boolean, thrown: unknown): Promise<number> {
  const error = thrown instanceof EncryptionMismatch ? new Failure("encryption_key", thrown.message) : thrown;
  if (error instanceof Failure) {
    const { code, message } = error;
    await terminal.err(json ? `${JSON.stringify({ error: { code, message } })}\n` : `governd: ${message}\n`);
    return EXIT.trouble;
  }
  // A defect of the program: its trace is what a report of it needs.
  const trace = error instanceof Error ? (error.stack ?? error.message) : String(error);
  const message = "This is a defect of governd; please report it with the lines above.";
  await terminal.err(`${trace}\n`);
  await terminal.err(
    json ? `${JSON.stringify({ error: { code: "internal", message } })}\n` : `governd: ${message}\n`,
  );
  return EXIT.trouble;
}

/** Rows in columns, the first row being the heads. */
export function columns(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? "").length)),
  );
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}
