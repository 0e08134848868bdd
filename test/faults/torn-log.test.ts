/** What a power cut leaves of the write-ahead log: any beginning of it is a workspace that was once committed. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { copyFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { verifyWorkspace } from "../../src/verify/workspace.ts";
import { SEED } from "../seed.ts";
import { Seeded } from "../seeded.ts";
import { bodyOf, OpenWorkspace } from "../support/open-workspace.ts";
import { type TemporaryDirectory, temporaryDirectory } from "../temporary.ts";

const WRITES = 60;
const CUTS = 60;

let directory: TemporaryDirectory;
beforeEach(() => {
  directory = temporaryDirectory();
});
afterEach(() => directory[Symbol.dispose]());

/** A workspace whose writes are in the log alone; answers its file. */
async function unfinished(): Promise<string> {
  const workspace = await OpenWorkspace.make(directory.path);
  for (let i = 0; i < WRITES; i++) {
    await workspace.perform("data.write", { agentId: "a", key: `k${i}`, value: `${i}`, metadata: {} });
    if (i % 9 === 0) await workspace.perform("checkpoint.create", { agentId: "a", label: null, metadata: {} });
    if (i % 11 === 0) await workspace.perform("data.delete", { agentId: "a", key: `k${i - 3}` });
  }
  const copy = join(directory.path, "copy.db");
  copyFileSync(workspace.path, copy);
  copyFileSync(`${workspace.path}-wal`, `${copy}-wal`);
  workspace[Symbol.dispose]();
  return copy;
}

/** Opens the remaining file, and returns its number of events. */
async function check(source: string, log: Uint8Array, name: string): Promise<number> {
  const path = join(directory.path, `${name}.db`);
  copyFileSync(source, path);
  writeFileSync(`${path}-wal`, log);
  using workspace = new OpenWorkspace(path);
  expect((await verifyWorkspace(workspace.connection, { scope: "workspace" })).problems).toEqual([]);
  const events = workspace.writer.headSeq;
  const written = await workspace.perform("data.write", { agentId: "a", key: "after", value: "v", metadata: {} });
  expect(bodyOf(written).allowed).toBe(true);
  expect((await verifyWorkspace(workspace.connection, { scope: "workspace" })).problems).toEqual([]);
  for (const suffix of ["", "-wal", "-shm"]) rmSync(`${path}${suffix}`, { force: true });
  return events;
}

test("cut off anywhere", async () => {
  const source = await unfinished();
  const log = readFileSync(`${source}-wal`);
  const whole = await check(source, log, "whole");
  expect(whole).toBeGreaterThan(WRITES);
  // What is longer holds as much or more.
  const random = new Seeded(SEED);
  const lengths = Array.from({ length: CUTS }, () => random.below(log.length)).sort((a, b) => a - b);
  let before = 0;
  for (const length of lengths) {
    const events = await check(source, log.subarray(0, length), `cut-${length}`).catch((error) => {
      throw new Error(`cut at ${length} of ${log.length}`, { cause: error });
    });
    expect(events).toBeGreaterThanOrEqual(before);
    expect(events).toBeLessThanOrEqual(whole);
    before = events;
  }
});

test("with a last part that was never written, or only in part", async () => {
  const source = await unfinished();
  const log = readFileSync(`${source}-wal`);
  const random = new Seeded(SEED);
  for (let i = 0; i < CUTS / 3; i++) {
    const from = random.below(log.length);
    const zeros = Buffer.from(log).fill(0, from);
    expect(await check(source, zeros, `zeros-${i}`)).toBeLessThanOrEqual(WRITES * 2);
    const garbled = Buffer.from(log);
    random.fill(garbled.subarray(from, Math.min(log.length, from + 500)));
    expect(await check(source, garbled, `garbled-${i}`)).toBeLessThanOrEqual(WRITES * 2);
    const longer = Buffer.concat([log, random.bytes(from % 9_000)]);
    expect(await check(source, longer, `longer-${i}`)).toBeGreaterThan(WRITES);
  }
});
