/** A workspace whose clock moves by hand, and whose log can be made to say what never happened. */
import { expect } from "bun:test";
import type { JsonObject } from "../../src/json.ts";
import type { ReportedProblem } from "../../src/verify/report-schema.ts";
import { governd } from "../cli/governd.ts";
import { restateLast } from "../corpus/rewrite.ts";
import { type TemporaryDirectory, temporaryDirectory } from "../temporary.ts";
import { codesOf, type SecondVerifier } from "../verify/second-verifier.ts";
import { OpenWorkspace } from "./open-workspace.ts";

export class ForgedWorkspace implements Disposable {
  private constructor(
    private readonly home: TemporaryDirectory,
    readonly workspace: OpenWorkspace,
    private readonly time: { ms: number },
  ) {}

  static async make(): Promise<ForgedWorkspace> {
    const home = temporaryDirectory();
    const time = { ms: Date.UTC(2026, 0, 1) };
    return new ForgedWorkspace(home, await OpenWorkspace.make(home.path, () => time.ms), time);
  }

  pass(ms: number): void {
    this.time.ms += ms;
  }

  /** Makes the last event say something else, and the rows be as it would have left them. */
  restate(change: JsonObject, ...sql: string[]): void {
    const { connection } = this.workspace;
    restateLast(connection, (details) => ({ ...details, ...change }));
    for (const one of sql) connection.exec(one);
  }

  /** Verifies the file with both programs, which must report the same codes. */
  async verified(second: SecondVerifier) {
    const { path, connection } = this.workspace;
    connection.truncateLog();
    const ours = await governd(["verify", path, "--json"], { released: false });
    const theirs = await second.run(path);
    const { sources } = ours.json<{ sources: { problems: ReportedProblem[] }[] }>();
    const codes = codesOf(sources.flatMap(({ problems }) => problems.map(({ code }) => code)));
    expect(codesOf(theirs.codes), theirs.out).toEqual(codes);
    return { exits: [ours.code, theirs.code], codes };
  }

  [Symbol.dispose](): void {
    this.workspace[Symbol.dispose]();
    this.home[Symbol.dispose]();
  }
}
