/**
 * Copies of a directory that is written to, made file by file, whatever the daemon does meanwhile: neither program
 * accuses them. Tampering with a log that is being written is still found.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import {
  appendFileSync,
  closeSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { type DataDirectory, dataDirectory } from "../../src/core/datadir/layout.ts";
import { openConnection } from "../../src/store/connection.ts";
import { copyDatabase } from "../database-files.ts";
import { effort } from "../effort.ts";
import { Seeded } from "../seeded.ts";
import { inMemory, PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";
import { codesOf } from "../verify/second-verifier.ts";
import { type Everything, filesOf, makeEverything, writing } from "./everything.ts";
import { expectRight, Judge } from "./judge.ts";

setDefaultTimeout(3 * PROCESS_TEST_MS);

const COPIES = effort({ usual: 14, long: 500 });
const SEED = 20_261_125;

const directory = temporaryDirectory(inMemory());
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

/** Copies a file in two pieces, with `between` in the middle. */
async function copyInPieces(from: string, to: string, at: number, between: () => Promise<void>): Promise<void> {
  const file = openSync(from, "r");
  const first = Buffer.alloc(at);
  readSync(file, first, 0, at, 0);
  await between();
  const rest = Buffer.alloc(Math.max(0, statSync(from).size - at));
  readSync(file, rest, 0, rest.length, at);
  closeSync(file);
  writeFileSync(to, Buffer.concat([first, rest]));
}

/** Copies all else, then the database and its log, each in two pieces and in any order, and perhaps the seals again. */
async function naiveCopy(data: DataDirectory, copy: string, seeded: Seeded, next: () => Promise<void>): Promise<void> {
  rmSync(copy, { recursive: true, force: true });
  cpSync(data.root, copy, { recursive: true, filter: (path) => !path.includes(`${made.main}.db`) });
  const { database } = filesOf(data, made.main);
  const meanwhile = async (most: number): Promise<void> => {
    for (let count = seeded.below(most + 1); count > 0; count--) await next();
  };
  for (const end of seeded.shuffled(["", "-wal"])) {
    await meanwhile(2);
    const target = `${join(copy, "workspaces", `${made.main}.db`)}${end}`;
    const pages = Math.floor(statSync(`${database}${end}`).size / 4096);
    await copyInPieces(`${database}${end}`, target, 4096 * seeded.below(pages + 1), () => meanwhile(1));
  }
  if (seeded.below(2) === 0) return;
  // The directory of seals comes last.
  await meanwhile(2);
  copyFileSync(filesOf(data, made.main).seals, filesOf(dataDirectory(copy), made.main).seals);
}

describe("a copy that was made while a daemon wrote", () => {
  test("is accused of nothing, and is named when its files are of different moments", async () => {
    const data = dataDirectory(directory.join("written"));
    cpSync(made.data.root, data.root, { recursive: true });
    const seeded = new Seeded(SEED);
    const wrong: unknown[] = [];
    const said = new Map<string, number>();
    await writing(data, made.main, { erasing: true }, async (next) => {
      for (let count = 0; count < COPIES; count++) {
        const copy = directory.join("work", "copy");
        await naiveCopy(data, copy, seeded, next);
        const [ours, theirs] = await judge.exits(copy, { keys: made.publicKeys.slice(0, 1) });
        const name = `${ours.code} ${codesOf(ours.codes)}`;
        said.set(name, (said.get(name) ?? 0) + 1);
        if (ours.code === 1 || (theirs !== null && theirs.code !== ours.code)) wrong.push([count, ours, theirs]);
      }
    });
    expectRight(wrong);
    expect(said.get("2 copied_while_written")).toBeGreaterThan(0);
    expect(said.get("0 ")).toBeGreaterThan(0);
  });
});

describe("a log that is being written, in which somebody", () => {
  test.each([
    ["removed an event of it", "DELETE FROM events WHERE seq = (SELECT max(seq) - 2 FROM events)"],
    ["removed its end", "DELETE FROM events WHERE seq = (SELECT seq FROM head)"],
    ["removed an older event", "DELETE FROM events WHERE seq = 30"],
    ["changed an entry", "UPDATE entries SET value = '\"x\"' WHERE id = (SELECT max(id) FROM entries)"],
    ["removed an entry", "DELETE FROM entries WHERE id = (SELECT max(id) FROM entries)"],
    ["removed a checkpoint", "DELETE FROM checkpoints WHERE event_seq = (SELECT max(event_seq) FROM checkpoints)"],
    ["revived a key", "UPDATE keys SET ended_seq = NULL WHERE ended_seq = (SELECT max(ended_seq) FROM keys)"],
    ["changed an agent", "UPDATE agents SET first_seq = first_seq + 1"],
  ])("%s, is tampered", async (name, sql) => {
    const { database } = filesOf(made.live.data, made.main);
    const path = directory.join("work", `${name}.db`);
    copyDatabase(database, path);
    const connection = openConnection(path);
    expect(connection.change(sql)).toBeGreaterThan(0);
    expect(readFileSync(`${path}-wal`).length).toBeGreaterThan(4096);
    const [ours, theirs] = await judge.exits(path, { keys: made.publicKeys.slice(0, 1) });
    connection.truncateLog();
    connection.close();
    expect([ours.code, theirs?.code ?? 1], ours.out).toEqual([1, 1]);
  });
});

describe("a file of seals that covers more than its log, beside which a daemon left a log (-wal),", () => {
  test.each([
    ["because somebody raised what its last seal covers", "seal_signature", (record: string) => raised(record)],
    ["because its last seal is another workspace's", "seal_invalid", () => lastSeal(made.main)],
  ])("%s, is tampered", async (_name, code, sealOf) => {
    const copy = dataDirectory(directory.join("work", code));
    cpSync(made.data.root, copy.root, { recursive: true });
    const { database, seals } = filesOf(copy, made.installation);
    appendFileSync(seals, sealOf(lastSeal(made.installation)));
    writeFileSync(`${database}-wal`, "");
    const [ours, theirs] = await judge.exits(copy.root, { keys: made.publicKeys.slice(0, 1) });
    expect([ours.code, ours.codes, theirs?.code ?? 1, theirs?.codes ?? [code]]).toEqual([1, [code], 1, [code]]);
  });

  const lastSeal = (id: string) =>
    `${readFileSync(filesOf(made.data, id).seals, "utf8")
      .trimEnd()
      .split(/\n\n(?=[^—])/)
      .at(-1)}\n\n`;
  const raised = (record: string) => record.replace(/\n(\d+)\n/, (_, size) => `\n${Number(size) + 5}\n`);
});
