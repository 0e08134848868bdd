/** tools/verify.py, the second implementation of the verifier. */

import { join } from "node:path";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";

const TOOLS = join(import.meta.dir, "../../tools");

/** Runs the command for each line of arguments. What is not caught ends the process, which no exit code can hide. */
const LOOP = `
import contextlib, io, json, sys
sys.path.insert(0, sys.argv[1])
import verify
for line in sys.stdin:
    sys.argv, out = ["verify.py", *json.loads(line)], io.StringIO()
    with contextlib.redirect_stdout(out):
        code = verify.main()
    print(json.dumps({"code": code, "out": out.getvalue()}), flush=True)
`;

/** The exit code of one call, and what it printed. */
interface Said {
  code: number;
  out: string;
}

export const HAS_PYTHON = Bun.which("python3") !== null;

/** One process for all calls of a file of tests, from the first call on: starting Python takes longer than most calls. */
export class SecondVerifier implements AsyncDisposable {
  #process: ReturnType<typeof startPython> | null = null;

  /** Runs `verify.py WORDS…`. Calls must not overlap. @throws {Error} with the traceback when it crashes */
  async run(...words: string[]): Promise<Said> {
    this.#process ??= startPython();
    const { child, lines } = this.#process;
    child.stdin.write(`${JSON.stringify(words)}\n`);
    child.stdin.flush();
    const { value } = await lines.next();
    if (value === undefined) throw new Error(`verify.py crashed: ${await new Response(child.stderr).text()}`);
    return JSON.parse(value);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process?.child.stdin.end();
    await this.#process?.child.exited;
  }
}

function startPython() {
  const child = Bun.spawn(["python3", "-B", "-c", LOOP, TOOLS], { stdin: "pipe", stdout: "pipe", stderr: "pipe" });
  const output = Readable.fromWeb(child.stdout as never);
  return { child, lines: createInterface({ input: output })[Symbol.asyncIterator]() };
}
