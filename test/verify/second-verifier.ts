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

/** One process for all calls of a file of tests: starting Python takes longer than most of them. */
export class SecondVerifier implements AsyncDisposable {
  readonly #child = Bun.spawn(["python3", "-B", "-c", LOOP, TOOLS], { stdin: "pipe", stdout: "pipe", stderr: "pipe" });
  readonly #lines = createInterface({ input: Readable.fromWeb(this.#child.stdout as never) })[Symbol.asyncIterator]();

  /** Runs `verify.py WORDS…`. Calls must not overlap. @throws {Error} with the traceback when it crashes */
  async run(...words: string[]): Promise<Said> {
    this.#child.stdin.write(`${JSON.stringify(words)}\n`);
    this.#child.stdin.flush();
    const { value } = await this.#lines.next();
    if (value === undefined) throw new Error(`verify.py crashed: ${await new Response(this.#child.stderr).text()}`);
    return JSON.parse(value);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.stdin.end();
    await this.#child.exited;
  }
}
