/**
 * A third verifier, of exports and receipts: a program in Go that was written from docs/audit-format.md alone. What it
 * cannot know from the page, a stranger cannot either.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { readTrust } from "../../src/verify/trust.ts";
import { buildGo } from "../go.ts";
import { temporaryDirectory } from "../temporary.ts";

/** What an auditor brings, as the other programs take it. */
export interface Brought {
  keys: readonly string[];
  seals?: readonly string[];
}

/** One process for all calls of a file of tests, from the first call on. */
export class ThirdVerifier implements AsyncDisposable {
  readonly #directory = temporaryDirectory();
  #process: ReturnType<typeof start> | null = null;

  /** Returns the exit code that the evidence deserves, and why. Calls must not overlap. @throws {Error} when it crashes */
  async run(path: string, { keys, seals = [] }: Brought): Promise<{ code: number; why: string }> {
    this.#process ??= start(this.#directory.join("third-verifier"));
    const { child, lines } = this.#process;
    const raw = readTrust({ publicKey: [...keys] }).publicKeys.map((key) => Buffer.from(key).toString("hex"));
    child.stdin.write(`${JSON.stringify({ path, keys: raw, seals })}\n`);
    child.stdin.flush();
    const { value } = await lines.next();
    if (value === undefined) throw new Error(`the third verifier crashed: ${await new Response(child.stderr).text()}`);
    return JSON.parse(value);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process?.child.stdin.end();
    await this.#process?.child.exited;
    this.#directory[Symbol.dispose]();
  }
}

function start(program: string) {
  const files = readdirSync(import.meta.dir).filter((name) => name.endsWith(".go"));
  buildGo(
    files.map((name) => join(import.meta.dir, name)),
    program,
  );
  const child = Bun.spawn([program], { stdin: "pipe", stdout: "pipe", stderr: "pipe" });
  const output = Readable.fromWeb(child.stdout as never);
  return { child, lines: createInterface({ input: output })[Symbol.asyncIterator]() };
}
