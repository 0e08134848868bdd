/** No program accuses honest evidence: of every age, with every key, and while it is written to and copied. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { copyFileSync, cpSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { dataDirectory } from "../../src/core/datadir/layout.ts";
import { effort } from "../effort.ts";
import { SEED } from "../seed.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";
import { type Everything, filesOf, makeEverything, writing } from "./everything.ts";
import { expectRight, Judge } from "./judge.ts";

setDefaultTimeout(3 * PROCESS_TEST_MS);

const COPIES = effort({ usual: 4, long: 200 });
/** The second program verifies one in this many papers with each key, others in each run. */
const SECOND_LOOKS_AT = effort({ usual: 3, long: 1 });

const directory = temporaryDirectory();
let made: Everything;
let judge: Judge;
beforeAll(async () => {
  made = await makeEverything(directory.path);
  mkdirSync(directory.join("work"));
  judge = new Judge(directory.join("work"));
});
afterAll(async () => {
  await judge[Symbol.asyncDispose]();
  directory[Symbol.dispose]();
});

let looks = SEED;

/**
 * Returns wrong verdicts of the programs about evidence, with each key. A key verifies what it or a later key sealed,
 * and nothing from before. The third program reads exports and receipts.
 */
async function withEveryKey(path: string, name: string, age: number, isPaper = false): Promise<unknown[]> {
  const wrong: unknown[] = [];
  for (const [number, key] of made.publicKeys.entries()) {
    const [ours, theirs] = await judge.exits(path, { keys: [key] }, looks++ % SECOND_LOOKS_AT === 0);
    const third = isPaper ? await judge.third(path, { keys: [key] }) : null;
    const must = number <= age ? 0 : 2;
    const agree = [theirs, third].every((said) => said === null || said.code === must);
    if (ours.code !== must || !agree) wrong.push([name, number, ours, theirs, third]);
  }
  return wrong;
}

describe("of every age and with every key", () => {
  test("exports, receipts and proofs", async () => {
    const papers = [...made.exports, ...made.receipts, ...made.installationExports];
    expect(papers.length + made.proofs.length).toBeGreaterThan(50);
    for (const { name, path, key } of papers) expectRight(await withEveryKey(path, name, key, true));
    for (const { name, path, key } of made.proofs) expectRight(await withEveryKey(path, name, key));
  });

  test("workspaces", async () => {
    for (const { name, data, key } of made.ages) {
      for (const id of [made.main, made.pruned]) {
        expectRight(await withEveryKey(filesOf(dataDirectory(data), id).database, name, key));
      }
    }
  });

  test("directories, with all keys at once and with the seals that were kept", async () => {
    for (const [index, { data }] of made.ages.entries()) {
      const seals = made.kept.slice(0, index + 1);
      for (const words of [{ keys: made.publicKeys }, { keys: made.publicKeys, seals }]) {
        const [ours, theirs] = await judge.exits(data, words);
        expect([ours.code, ours.out, theirs?.code ?? 0], theirs?.out).toEqual([0, expect.any(String), 0]);
      }
    }
  });
});

describe("while it is written to", () => {
  const keys = () => made.publicKeys.slice(0, 1);

  test("the directory itself", async () => {
    const data = dataDirectory(directory.join("written"));
    cpSync(made.data.root, data.root, { recursive: true });
    await writing(data, made.main, { erasing: true }, async (next) => {
      for (let count = 0; count < COPIES; count++) {
        const going = next();
        const [ours, theirs] = await judge.exits(data.root, { keys: keys() });
        await going;
        expect([ours.code, ours.out, theirs?.code ?? 0], theirs?.out).toEqual([0, "", 0]);
      }
    });
  });

  // As docs/auditing.md says: the database, then its log, and both again when the log was started over meanwhile.
  test.each([
    ["database first", ["", "-wal"], true],
    ["log first, when nothing was brought into the database", ["-wal", ""], false],
  ] as const)("a copy of it file by file, %s", async (_name, ends, erasing) => {
    const data = dataDirectory(directory.join(`copied-${erasing}`));
    cpSync(made.data.root, data.root, { recursive: true });
    const { database } = filesOf(data, made.main);
    await writing(data, made.main, { erasing }, async (next) => {
      await next();
      for (let count = 0; count < COPIES; count++) {
        const copy = directory.join("work", "copy");
        rmSync(copy, { recursive: true, force: true });
        cpSync(data.root, copy, { recursive: true, filter: (path) => !path.includes(`${made.main}.db`) });
        for (let before = ""; before === "" || before !== startOf(`${database}-wal`); ) {
          before = startOf(`${database}-wal`);
          for (const end of ends) {
            await next();
            copyFileSync(`${database}${end}`, `${join(copy, "workspaces", `${made.main}.db`)}${end}`);
          }
        }
        const [ours, theirs] = await judge.exits(copy, { keys: keys() });
        expect([ours.code, ours.out, theirs?.code ?? 0], theirs?.out).toEqual([0, "", 0]);
      }
    });
  });
});

/** The header of a write-ahead log, which is another when the log was started over; "none" when it is empty. */
const startOf = (log: string): string => readFileSync(log).subarray(0, 32).toString("hex") || "none";
