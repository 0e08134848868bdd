/** Runs a command of this program in its own process, which does not delay requests. */
import { setPriority, tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { IS_COMPILED } from "../../compiled.ts";
import { messageOf } from "../../failure.ts";
import { type Settings, variableOf } from "../../settings/definitions.ts";
import { SERVER_SETTINGS } from "../../settings/server-options.ts";

/** The nice value of the process: a lower priority than the daemon's, since requests come first. */
const PRIORITY = 10;
/** The command that runs this program: the binary itself, or the runtime with the source. */
const PROGRAM = IS_COMPILED
  ? [process.execPath]
  : [process.execPath, fileURLToPath(new URL("../../main.ts", import.meta.url))];

/** The settings that name the data of a command. */
export type OwnSettings = Pick<Settings, "data_dir" | "encryption_key_file"> &
  Partial<Pick<Settings, (typeof SERVER_SETTINGS)[number]>>;

/** What a command printed with `--json`, or why it failed. */
type CommandOutcome = { kind: "done"; out: string } | { kind: "failed"; reason: string };

/** Returns the arguments of a command that works on the daemon's data directory and prints JSON. */
export function wordsOf(
  command: readonly string[],
  { data_dir: dataDir, encryption_key_file: keyFile }: Pick<OwnSettings, "data_dir" | "encryption_key_file">,
): string[] {
  const words = [...command, "--data-dir", dataDir, "--json"];
  if (keyFile !== null) words.push("--encryption-key-file", keyFile);
  return words;
}

/**
 * Returns the settings of the libSQL server as environment variables, since everybody can read a process's arguments.
 */
function serverOf(settings: OwnSettings): Record<string, string> {
  if (settings.engine !== "libsql-server") return {};
  const values = SERVER_SETTINGS.map((name) => [variableOf(name), String(settings[name] ?? "")]);
  return Object.fromEntries(values.filter(([, value]) => value !== ""));
}

/**
 * Runs a command on the data directory of `settings`. No other setting of the daemon affects the command, except by its
 * arguments.
 */
export async function runOwnCommand(
  words: readonly string[],
  settings: OwnSettings,
  signal: AbortSignal,
): Promise<CommandOutcome> {
  let child: Bun.Subprocess<"ignore", "pipe", "pipe">;
  try {
    child = Bun.spawn([...PROGRAM, ...words], {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
      env: { TMPDIR: tmpdir(), GOVERND_CONFIG: "/dev/null", ...serverOf(settings) },
      signal,
    });
  } catch (error) {
    return { kind: "failed", reason: `cannot start the process: ${messageOf(error)}` };
  }
  lowerPriority(child.pid);
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (out !== "") return { kind: "done", out };
  return { kind: "failed", reason: reasonOf(err) ?? `the process ended with exit code ${code}` };
}

function lowerPriority(pid: number): void {
  try {
    setPriority(pid, PRIORITY);
  } catch {
    // The process has already ended. Its exit code tells the outcome.
  }
}

/** Returns the message of a failure that `--json` printed, or null. */
function reasonOf(text: string): string | null {
  const last = text.trim().split("\n").at(-1) ?? "";
  try {
    const { error } = JSON.parse(last) as { error?: { message?: unknown } };
    return typeof error?.message === "string" ? error.message : null;
  } catch {
    return null;
  }
}
