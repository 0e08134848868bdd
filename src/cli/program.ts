/** The command line: finds the command, runs it and returns its exit code. */
import { Command, CommanderError } from "commander";
import { EXIT, Failure } from "../failure.ts";
import { VERSION } from "../version.ts";
import { Session } from "./session.ts";
import { refuseDashAsName } from "./standard-streams.ts";
import { printFailure, processTerminal } from "./terminal.ts";

type AddCommand = (program: Command, session: Session) => void;

/**
 * The commands in the order of `--help`, by the word that calls them. Each is imported only when it is called: the
 * daemon then holds no code of other commands in memory, and a command starts sooner.
 */
const COMMANDS: ReadonlyMap<string, () => Promise<AddCommand>> = new Map([
  ["serve", async () => (await import("./commands/serve.ts")).addServe],
  ["health", async () => (await import("./commands/health.ts")).addHealth],
  ["verify", async () => (await import("./commands/verify.ts")).addVerify],
  ["receipt", async () => (await import("./commands/receipt.ts")).addReceipt],
  ["prove", async () => (await import("./commands/prove.ts")).addProve],
  ["scan", async () => (await import("./commands/scan.ts")).addScan],
  ["workspace", async () => (await import("./commands/workspace.ts")).addWorkspaceCommands],
  ["key", async () => (await import("./commands/key.ts")).addKeyCommands],
  ["key-info", async () => (await import("./commands/seal-key.ts")).addKeyInfo],
  ["rotate-seal-key", async () => (await import("./commands/seal-key.ts")).addRotateSealKey],
  ["data", async () => (await import("./commands/data.ts")).addDataCommands],
  ["erase", async () => (await import("./commands/erase.ts")).addErase],
  ["audit", async () => (await import("./commands/audit.ts")).addAudit],
  ["account", async () => (await import("./commands/account.ts")).addAccountCommands],
  ["sink", async () => (await import("./commands/sink.ts")).addSinkCommands],
  ["prune", async () => (await import("./commands/prune.ts")).addPrune],
  ["compact", async () => (await import("./commands/compact.ts")).addCompact],
  ["migrate", async () => (await import("./commands/migrate.ts")).addMigrate],
  ["rekey", async () => (await import("./commands/rekey.ts")).addRekey],
  ["backup", async () => (await import("./commands/backup.ts")).addBackup],
  ["restore", async () => (await import("./commands/backup.ts")).addRestore],
  ["check", async () => (await import("./commands/check.ts")).addCheck],
  ["version", async () => (await import("./commands/about.ts")).addVersion],
]);

/** Runs one command and returns its exit code: 0 for success, 1 when the answer is no, 2 for usage or environment. */
export async function run(words: readonly string[], terminal = processTerminal()): Promise<number> {
  // Files that a command creates are private to its user.
  process.umask(0o077);
  const session = new Session(terminal);
  const written: Promise<void>[] = [];
  const json = words.includes("--json");
  const program = createProgram(session, written, json);
  try {
    await addCommands(program, session, words[0]);
    await program.parseAsync(words, { from: "user" });
    return session.exitCode;
  } catch (error) {
    if (!(error instanceof CommanderError)) return await printFailure(terminal, json, error);
    // The parser has already printed help and usage errors, except when errors must be JSON.
    if (error.exitCode === 0) return EXIT.done;
    if (json) await printFailure(terminal, json, new Failure("usage", error.message.replace(/^error: /, "")));
    return EXIT.trouble;
  } finally {
    await Promise.all(written);
  }
}

function createProgram(session: Session, written: Promise<void>[], json: boolean): Command {
  const { terminal } = session;
  return new Command("governd")
    .description("A self-hosted governance daemon for software agents.")
    .exitOverride()
    .configureOutput({
      writeOut: (text) => written.push(terminal.out(text)),
      writeErr: (text) => {
        if (!json) written.push(terminal.err(text));
      },
      outputError: (text, write) => write(text.replace(/^error: /, "governd: ")),
    })
    .showHelpAfterError("Run it with --help for how to use it.")
    .helpCommand(true)
    .addHelpText("after", "\nExit codes: 0 done, 1 the answer is no, 2 usage or environment.")
    .version(VERSION, "-V, --version", "print the version")
    .hook("preAction", (_, command) => {
      session.json = command.opts().json === true;
      refuseDashAsName(command);
    });
}

/** Adds the command that `word` calls. Adds all commands for any other word, so that help can list them. */
async function addCommands(program: Command, session: Session, word: string | undefined): Promise<void> {
  const called = COMMANDS.get(word ?? "");
  if (called !== undefined) return (await called())(program, session);
  for (const load of COMMANDS.values()) (await load())(program, session);
  // Completions and the manual describe every command, so they come only with all of them.
  (await import("./commands/about.ts")).addCompletionsAndManual(program, session);
}
