/** From the words of a command line to a command, and from what became of it to an exit code. */
import { Command, CommanderError } from "commander";
import { EXIT, Failure } from "../failure.ts";
import { VERSION } from "../version.ts";
import { addCommands } from "./commands.ts";
import type { Session } from "./session.ts";
import { printFailure, processTerminal } from "./terminal.ts";

/** Runs one command. Answers its exit code: 0 done, 1 the answer is no, 2 usage or environment. */
export async function run(words: readonly string[], terminal = processTerminal()): Promise<number> {
  // What is made here is nobody else's to read.
  process.umask(0o077);
  const session: Session = { terminal, exitCode: EXIT.done };
  const written: Promise<void>[] = [];
  const json = words.includes("--json");
  const program = await buildProgram(session, written, json, words[0]);
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

/** `word` is the first one of the command line: which command is called. */
async function buildProgram(
  session: Session,
  written: Promise<void>[],
  json: boolean,
  word: string | undefined,
): Promise<Command> {
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
  await addCommands(program, session, word);
  return program;
}
