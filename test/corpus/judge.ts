/**
 * Both programs judge tamperings, and their verdicts are compared with the expected ones. A third program, which was
 * written from the documentation of the formats, judges exports and receipts.
 */
import { expect } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { verifyPath } from "../../src/cli/verify/sources.ts";
import { limitUnreleased } from "../../src/store/closing.ts";
import { EXIT_CODES, overallVerdict } from "../../src/verify/report.ts";
import type { Trust } from "../../src/verify/trust.ts";
import { readTrust } from "../../src/verify/trust.ts";
import { governd } from "../cli/governd.ts";
import { effort } from "../effort.ts";
import { HAS_GO } from "../go.ts";
import { ThirdVerifier } from "../third-verifier/third-verifier.ts";
import { codesOf, HAS_PYTHON, SecondVerifier } from "../verify/second-verifier.ts";

/** What evidence is in: the columns of the table that the counting tests print. */
export type Form =
  | "control"
  | "database"
  | "database with log"
  | "directory"
  | "export"
  | "installation"
  | "proof"
  | "receipt"
  | "seals";

type Exit = 0 | 1 | 2;

export interface Tampering {
  form: Form;
  /** What was done: the rows of the table. */
  kind: string;
  /** What it was done to. The three together name the tampering. */
  to: string;
  /** The exit code of both programs; `refused` stands for either code but 0. */
  exit: Exit | "refused";
  /** The codes of the problems that both must report, in any order. */
  codes?: readonly string[];
}

/** The second program judges one in this many tamperings; with GOVERND_TEST_LONG=1 each. */
const SECOND_LOOKS_AT = effort({ usual: 8, long: 1 });
const ALL_SAID = effort({ usual: 0, long: 1 }) === 1;
const SECOND_LOOKS_AT_FLIPS = effort({ usual: 2, long: 1 });
/** The driver closes files only when garbage is collected, which takes longer than judging a small file. */
const FILES_BETWEEN_COLLECTIONS = 200;

/** Stands for the exit code of the second program when it crashes. */
export const CRASHED = -1;

/** What both programs are given beside the evidence: public keys and kept seals. */
export interface Words {
  keys: readonly string[];
  seals?: readonly string[];
}

export class Judge implements AsyncDisposable {
  #second = new SecondVerifier();
  readonly #third = new ThirdVerifier();
  readonly #paper: string;
  readonly #seen = new Map<string, Tampering>();
  readonly #trusts = new Map<string, Trust>();
  #looked = 0;

  constructor(root: string) {
    this.#paper = join(root, "tampered.txt");
    limitUnreleased(FILES_BETWEEN_COLLECTIONS);
  }

  /** Every tampering that was judged, each once. */
  get seen(): Tampering[] {
    return [...this.#seen.values()];
  }

  /** Writes evidence into a file, which the next call overwrites. Returns its path. */
  paper(content: string | Uint8Array): string {
    writeFileSync(this.#paper, content);
    return this.#paper;
  }

  /** Returns what is wrong with the two programs' verdicts; null when they say what they must. */
  async wrong(tampering: Tampering, path: string, words: Words, both = this.#isTurn()): Promise<unknown> {
    const { form, kind, to, exit, codes } = tampering;
    this.#seen.set(`${form} ${kind} ${to}`, tampering);
    const [ours, theirs] = await this.exits(path, words, both);
    const third = await this.#thirdCode(form, path, words);
    const thirdAgrees =
      third === null || (form === "receipt" ? third === ours.code : (third === 0) === (ours.code === 0));
    const agree = (theirs ?? ours).code === ours.code && thirdAgrees;
    const sameCodes = theirs === null || form !== "control" || isSame(codesOf(theirs.codes), codesOf(ours.codes));
    const fits =
      (exit === "refused" ? ours.code !== 0 : ours.code === exit) &&
      (codes === undefined || isSame([...codes].sort(), ours.codes.toSorted()));
    return agree && sameCodes && fits ? null : [form, kind, to, { must: exit, ours, theirs, third }];
  }

  /**
   * Judges evidence with a bit flipped. Returns whether a program accepts it: what that bit means decides whether this
   * is right, so the caller must check. Also returns what else is wrong: that the exit codes differ, or in a long run
   * the codes of the problems. The evidence has other ids and times in each run.
   */
  async flipped(form: Form, to: string, path: string, words: Words) {
    this.#seen.set(`${form} flipped ${to}`, { form, kind: "flipped", to, exit: "refused" });
    const [ours, theirs] = await this.exits(path, words, this.#looked % SECOND_LOOKS_AT_FLIPS === 0);
    const said = ({ code, codes }: { code: number; codes: string[] }) => `${code} ${codesOf(codes)}`;
    const isSame = ALL_SAID ? theirs && said(ours) === said(theirs) : ours.code === theirs?.code;
    const agree = theirs === null || (isSame && theirs.code !== CRASHED);
    const passes = ours.code === 0 || theirs?.code === 0 || (await this.#thirdCode(form, path, words)) === 0;
    return { passes, wrong: agree ? null : [form, to, said(ours), said(theirs), ours.out, theirs.out] };
  }

  /** Returns what both programs say; null for the second when `both` is false, or there is no Python. */
  async exits(path: string, words: Words, both = true) {
    const ours = await this.#ours(path, words);
    if (!both || !HAS_PYTHON) return [ours, null] as const;
    return [ours, await this.#theirs([...optionsOf(words), path])] as const;
  }

  /** Returns what the third program says of an export or a receipt; null when there is no Go. */
  async third(path: string, words: Words): Promise<{ code: number; why: string } | null> {
    return HAS_GO ? await this.#third.run(path, words) : null;
  }

  /** Returns the third program's exit code for an export or a receipt that {@link paper} wrote; null without Go. */
  async #thirdCode(form: Form, path: string, words: Words): Promise<number | null> {
    const said = path === this.#paper && form !== "proof" ? await this.third(path, words) : null;
    return said?.code ?? null;
  }

  /** Returns what the second program says. A crash has a code that no program returns. */
  async #theirs(words: string[]) {
    try {
      return await this.#second.run(...words);
    } catch (error) {
      this.#second = new SecondVerifier();
      return { code: CRASHED, codes: [], out: error instanceof Error ? error.message : "" };
    }
  }

  /** Returns what governd says. Without kept seals, the command does nothing more than what is called here. */
  async #ours(path: string, words: Words) {
    this.#looked += 1;
    if (words.seals !== undefined) {
      const { code, json, err } = await governd(["verify", path, "--json", ...optionsOf(words)], { released: false });
      if (err !== "") return { code, codes: [], out: err };
      return saidOf(code, json<{ sources: { problems: Problems }[] }>().sources);
    }
    const name = words.keys.join();
    const trust = this.#trusts.get(name) ?? readTrust({ publicKey: [...words.keys] });
    this.#trusts.set(name, trust);
    const asked = { agentId: undefined, trust, witnesses: null, threads: 1, encryptionKey: () => null };
    const results = await verifyPath(path, asked, { step: async () => {} } as never);
    return saidOf(
      EXIT_CODES[overallVerdict(results)],
      results.map(({ report }) => report),
    );
  }

  #isTurn = (): boolean => this.#looked % SECOND_LOOKS_AT === 0;

  /** Returns the number of judged tamperings by kind and form. */
  table(): Record<string, Record<string, number>> {
    const table: Record<string, Record<string, number>> = {};
    for (const { form, kind } of this.seen) {
      const row = table[kind] ?? {};
      row[form] = (row[form] ?? 0) + 1;
      table[kind] = row;
    }
    return table;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#second[Symbol.asyncDispose]();
    await this.#third[Symbol.asyncDispose]();
  }
}

type Problems = readonly { code: string; message: string }[];

function saidOf(code: number, sources: readonly { problems: Problems }[]) {
  const problems = sources.flatMap((source) => source.problems);
  const out = problems.slice(0, 3).map((problem) => `${problem.code}: ${problem.message}`);
  return { code, codes: problems.map((problem) => problem.code), out: out.join("; ") };
}

const isSame = (one: readonly string[], other: readonly string[]): boolean => one.join() === other.join();

const optionsOf = ({ keys, seals = [] }: Words): string[] => [
  ...keys.flatMap((key) => ["--public-key", key]),
  ...seals.flatMap((seal) => ["--seal", seal]),
];

/** Expects that nothing is wrong. Shows ten of a longer list. */
export function expectRight(found: readonly unknown[]): void {
  const wrong = found.filter((one) => one !== null);
  expect([wrong.length, wrong.slice(0, 10)]).toEqual([0, []]);
}
