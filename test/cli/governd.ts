/** Runs commands of governd in this process. Those that need one of their own are run by governd-process.ts. */
import { run } from "../../src/cli/program.ts";
import { filesReleased } from "../released.ts";
import { engineEnvironment } from "../support/engine.ts";

export interface Outcome {
  code: number;
  out: string;
  err: string;
  /** Standard output as JSON. */
  json<T = Record<string, unknown>>(): T;
}

/**
 * Runs a command to its end in this process, which takes a fraction of the time of a child process.
 * Returns after this process has closed the command's files, as the end of a process would. That takes longer than most
 * commands: `released: false` does not wait for it, for example for a copy that only this command uses.
 *
 * A command needs governd-process.ts if it must be alone with its files, while this process or a daemon in it has them
 * open, because POSIX locks belong to a process. So do several commands at once, commands that are killed, and whatever
 * depends on the environment or the working directory.
 */
export async function governd(words: readonly string[], { released = true } = {}): Promise<Outcome> {
  const said = { out: "", err: "" };
  const say = (stream: keyof typeof said) => async (text: string) => {
    said[stream] += text;
  };
  const umask = process.umask();
  const engine = engineEnvironment(words);
  Object.assign(process.env, engine);
  try {
    const code = await run(words, { out: say("out"), err: say("err"), interactive: false });
    return { code, ...said, json: () => JSON.parse(said.out) };
  } finally {
    process.umask(umask);
    for (const variable of Object.keys(engine)) delete process.env[variable];
    if (released) await filesReleased();
  }
}

/** A new workspace, as the command prints it that made it. */
export interface MadeWorkspace {
  workspace_id: string;
  api_key: string;
}

/** Makes a workspace with the command line. `words` are further options. @throws {Error} when the command fails */
export async function makeWorkspace(
  dataDir: string,
  name = "W",
  words: readonly string[] = [],
): Promise<MadeWorkspace> {
  const create = ["workspace", "create", "--name", name, "--json", "--data-dir", dataDir];
  const made = await governd([...create, ...words]);
  if (made.code !== 0) throw new Error(`no workspace was made: ${made.err}`);
  return made.json<MadeWorkspace>();
}
