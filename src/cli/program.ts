/** From the words of a command line to a command, and from what became of it to an exit code. */
import { Command, CommanderError } from "commander";
import { EXIT, Failure } from "../failure.ts";
import { VERSION } from "../version.ts";
import { addAccountCommands } from "./account.ts";
import { addErase } from "./erase.ts";
import { addKeyCommands } from "./key.ts";
import { addKeyInfo } from "./key-info.ts";
import { addPrune } from "./prune.ts";
import { addRotateSealKey } from "./rotate-seal-key.ts";
import { addScan } from "./scan.ts";
import { addServe } from "./serve.ts";
import { printFailure, printResult, processTerminal, type Terminal } from "./terminal.ts";
import { addVerify } from "./verify.ts";
import { addWorkspaceCommands } from "./workspace.ts";

/** What every command gets: where to write, and where to leave an exit code other than 0. */
export interface Session {
  terminal: Terminal;
  exitCode: number;
}

/** Runs one command. Answers its exit code: 0 done, 1 the answer is no, 2 usage or environment. */
export async function run(words: readonly string[], terminal = processTerminal()): Promise<number> {
  // What is made here is nobody else's to read.
  process.umask(0o077);
  const session: Session = { terminal, exitCode: EXIT.done };
  const written: Promise<void>[] = [];
  const json = words.includes("--json");
  const program = buildProgram(session, written, json);
  try {
    await program.parseAsync(words, { from: "user" });
    return session.exitCode;
  } catch (error) {
    if (!(error instanceof CommanderError)) return await printFailure(terminal, json, error);
    // Help was printed, and so were usage errors, unless they are to be JSON.
    if (error.exitCode === 0) return EXIT.done;
    if (json) await printFailure(terminal, json, new Failure("usage", error.message.replace(/^error: /, "")));
    return EXIT.trouble;
  } finally {
    await Promise.all(written);
  }
}

function buildProgram(session: Session, written: Promise<void>[], json: boolean): Command {
  const { terminal } = session;
  const program = new Command("governd")
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
    .version(VERSION, "-V, --version", "print the version");
  addServe(program, session);
  addVerify(program, session);
  addScan(program, session);
  addWorkspaceCommands(program, session);
  addKeyCommands(program, session);
  addKeyInfo(program, session);
  addRotateSealKey(program, session);
  addErase(program, session);
  addAccountCommands(program, session);
  addPrune(program, session);
  program
    .command("version")
    .description("print the version")
    .option("--json", "print JSON")
    .action(({ json = false }: { json?: boolean }) =>
      printResult(terminal, json, { version: VERSION }, [`governd ${VERSION}`]),
    );
  return program;
}
