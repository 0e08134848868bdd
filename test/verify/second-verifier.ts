/** tools/verify.py, the second implementation of the verifier. */

import { test } from "bun:test";
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
    sys.argv, out = ["verify.py", "--json", *json.loads(line)], io.StringIO()
    with contextlib.redirect_stdout(out):
        code = verify.main()
    report = json.loads(out.getvalue())
    said = "".join(verify.lines_of(report)) if report["sources"] else report["error"]
    codes = [problem["code"] for source in report["sources"] for problem in source["problems"]]
    print(json.dumps({"code": code, "out": said, "codes": codes, "sources": report["sources"]}), flush=True)
`;

/** The exit code of one call, what it prints without `--json`, and the codes of the problems. */
export interface Said {
  code: number;
  out: string;
  codes: string[];
  sources: SaidReport["sources"];
}

/** What verify.py prints with `--json`, as far as tests look at it. */
export interface SaidReport {
  sources: { verdict: string; text: string; problems: { code: string }[] }[];
}

/** The codes of a report of `governd verify --json` or of verify.py, each once and in order, to be compared. */
export const codesOf = (codes: readonly string[]): string[] => [...new Set(codes)].sort();

export const HAS_PYTHON = Bun.which("python3") !== null;

/** A test that asks both programs. It is skipped, and listed as such, where there is no Python. */
export const compared = test.skipIf(!HAS_PYTHON);

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
