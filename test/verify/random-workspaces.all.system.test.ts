/** Whatever an agent does, its workspace verifies; whatever somebody else does to the file is found. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { eventId } from "../../src/ids.ts";
import { TILE_WIDTH } from "../../src/log/tiles.ts";
import { openConnection } from "../../src/store/connection.ts";
import { verifyDatabaseFile } from "../../src/verify/sources.ts";
import { verifyDivided, verifyWorkspace, type WorkspaceReport } from "../../src/verify/workspace.ts";
import { recount } from "../corpus/rewrite.ts";
import { effort } from "../effort.ts";
import { PROCESS_TEST_MS } from "../patience.ts";
import { recordRoot } from "../support/state-root.ts";
import { inMemory } from "../temporary.ts";
import { pruneTiles } from "./pruning.ts";
import { Driver, PROGRAM } from "./sample-workspace.ts";
import { codesOf, HAS_PYTHON, SecondVerifier } from "./second-verifier.ts";

const RUNS = Number(process.env.TEST_RUNS ?? effort({ usual: 7, long: 100 }));
const HOUR_MS = 3_600_000;
const AGENTS = ["a", "b"];
const KEYS = ["k", "k/1", "k/2", "m/1"];

let directory: string;
let files = 0;
const second = new SecondVerifier();

beforeAll(() => {
  directory = mkdtempSync(join(inMemory(), "governd-random-"));
});
afterAll(async () => {
  await second[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true });
});

type Step = (driver: Driver) => Promise<unknown>;

const agent = fc.constantFrom(...AGENTS);
const key = fc.constantFrom(...KEYS);
/** A program, which does not see what is set aside, or a person. */
const actor = fc.constantFrom(PROGRAM, undefined);

/** The newest event but some of an operation with a result. */
function eventOf(driver: Driver, operation: string, result: string, some: number) {
  const sql = `SELECT seq, random, agent_id FROM events WHERE operation = ? AND result = ?
    ORDER BY seq DESC LIMIT 1 OFFSET ?`;
  const row = driver.connection.get<[number, Uint8Array, string]>(sql, [operation, result, some]);
  return row === undefined ? null : { id: eventId(row[0], row[1]), agentId: row[2] };
}

/** The checkpoint with that number, counted around; without any, one that does not exist. */
function checkpointId(driver: Driver, number: number): string {
  const ids = driver.connection.all<[string]>("SELECT id FROM checkpoints ORDER BY event_seq");
  return ids[number % Math.max(1, ids.length)]?.[0] ?? "cp_01h455vb4pex5vsknk084sn02q";
}

/** Draws how long versions are kept: with one of these retentions or none, and a history of days, none, or by default. */
const policies = (...retentions: number[]): fc.Arbitrary<Record<string, number>> =>
  fc
    .tuple(fc.constantFrom(null, ...retentions), fc.constantFrom(null, 0, 0, 1, 3))
    .map(([retention_days, history_days]) => ({
      ...(retention_days !== null && { retention_days }),
      ...(history_days !== null && { history_days }),
    }));

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.tuple(agent, key, fc.integer({ min: 1, max: 100 })).map(
      ([agentId, k, hours]): Step =>
        (d) =>
          d.perform("data.write", { agentId, key: k, value: "z", metadata: {}, expiry: { afterMs: hours * HOUR_MS } }),
    ),
  },
  {
    weight: 8,
    arbitrary: fc.tuple(agent, key, fc.constantFrom("x", "y"), actor).map(
      ([agentId, k, value, by]): Step =>
        (d) =>
          d.perform("data.write", { agentId, key: k, value, metadata: {} }, by),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(agent, key, actor).map(
      ([agentId, k, by]): Step =>
        (d) =>
          d.perform("data.delete", { agentId, key: k }, by),
    ),
  },
  {
    weight: 4,
    arbitrary: fc.tuple(agent, key, actor).map(
      ([agentId, k, by]): Step =>
        (d) =>
          d.perform("data.read", { agentId, key: k }, by),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.nat(999).map(
      (n): Step =>
        async (d) => {
          const writes = d.connection.all<[seq: number, agentId: string, key: string, random: Uint8Array]>(
            `SELECT seq, agent_id, details ->> '$.key', random FROM events
             WHERE operation = 'data.write' AND result = 'allowed' AND details IS NOT NULL`,
          );
          const one = writes[n % Math.max(1, writes.length)];
          if (one === undefined) return;
          const [seq, agentId, key, random] = one;
          await d.perform("data.erase", { agentId, key, version: eventId(seq, random) });
        },
    ),
  },
  {
    weight: 3,
    arbitrary: fc.tuple(agent, key, fc.nat(999)).map(
      ([agentId, k, n]): Step =>
        async (d) => {
          const head = d.connection.value<number>("SELECT seq FROM head") as number;
          await d.perform("data.read", { agentId, key: k, asOf: { seq: n % (head + 1) } });
        },
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(agent, fc.constantFrom("k", "k/", "m"), actor).map(
      ([agentId, prefix, by]): Step =>
        (d) =>
          d.perform("data.delete_prefix", { agentId, prefix }, by),
    ),
  },
  {
    weight: 3,
    arbitrary: agent.map(
      (agentId): Step =>
        (d) =>
          d.perform("checkpoint.create", { agentId, label: null, metadata: {} }),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.nat(9).map(
      (n): Step =>
        (d) =>
          d.perform("checkpoint.delete", { checkpointId: checkpointId(d, n) }),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(fc.nat(9), fc.boolean(), fc.boolean(), actor).map(
      ([n, restoreConfig, restoreData, by]): Step =>
        (d) =>
          d.perform("checkpoint.restore", { checkpointId: checkpointId(d, n), restoreConfig, restoreData }, by),
    ),
  },
  {
    weight: 4,
    arbitrary: fc.nat(9).map(
      (n): Step =>
        async (d) => {
          const write = eventOf(d, "data.write", "allowed", n);
          if (write !== null) await d.setAside(write.agentId, write.id);
        },
    ),
  },
  {
    weight: 2,
    arbitrary: fc.nat(3).map(
      (n): Step =>
        async (d) => {
          const set = eventOf(d, "quarantine.set", "ok", n);
          if (set === null) return;
          await d.looked("quarantine.release", { agentId: null, quarantine: set.id, reason: "a test" });
        },
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(agent, policies(1, 3)).map(
      ([agentId, policies]): Step =>
        (d) =>
          d.perform("config.update", { agentId, config: { policies } }),
    ),
  },
  {
    weight: 1,
    arbitrary: policies(2, 4).map(
      (policies): Step =>
        (d) =>
          d.perform("policies.update", { workspacePolicies: { policies } }),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.integer({ min: 1, max: 3 }).map(
      (days): Step =>
        async (d) =>
          d.passDays(days),
    ),
  },
  { weight: 1, arbitrary: fc.constant<Step>((d) => d.sweep()) },
  {
    weight: 3,
    arbitrary: fc.tuple(agent, key).map(
      ([agentId, k]): Step =>
        (d) =>
          recordRoot(d, () => d.write(agentId, k, "while it was computed")),
    ),
  },
);

/** Reads until the first tiles are full. */
async function fill(driver: Driver, tiles: number): Promise<void> {
  const count = () => driver.connection.get<[number]>("SELECT max(seq) FROM events")?.[0] ?? 0;
  while (count() < tiles * TILE_WIDTH) {
    await driver.performAll(Array.from({ length: 64 }, () => ["data.read", { agentId: "a", key: "k" }] as const));
  }
}

const erasure = fc.tuple(agent, key).map(
  ([agentId, k]): Step =>
    (d) =>
      d.perform("data.erase", { agentId, key: k }),
);
const prunedSteps = fc.array(fc.oneof({ weight: 20, arbitrary: step }, { weight: 1, arbitrary: erasure }), {
  minLength: 5,
  maxLength: 60,
});
/** What is done before and after a pruning, and after a second one. */
const prunings = fc.tuple(prunedSteps, prunedSteps, prunedSteps, fc.option(prunedSteps));

/** Makes a workspace that was pruned once or twice. */
async function prunedWorkspace(path: string, [before, between, after, last]: Values<typeof prunings>) {
  const driver = await Driver.create(path);
  for (const take of before) await take(driver);
  await fill(driver, 1);
  for (const take of between) await take(driver);
  await pruneTiles(driver, 1);
  for (const take of after) await take(driver);
  if (last !== null) {
    await fill(driver, 2);
    await pruneTiles(driver, 2);
    for (const take of last) await take(driver);
  }
  driver.close();
}

type Values<A> = A extends fc.Arbitrary<infer T> ? T : never;

test(
  "a pruned workspace verifies, whatever was done before and after",
  async () => {
    await fc.assert(
      fc.asyncProperty(prunings, async (steps) => {
        const path = join(directory, `${files++}.db`);
        await prunedWorkspace(path, steps);
        const reader = openConnection(path, { readOnly: true });
        const reports = [await verifyWorkspace(reader, { scope: "workspace" })];
        reports.push(await verifyWorkspace(reader, { scope: "workspace" }, { maxKeys: 2 }));
        for (const agentId of AGENTS) reports.push(await verifyWorkspace(reader, { agentId }));
        reader.close();
        expect(reports.flatMap(({ problems }) => problems)).toEqual([]);
        if (HAS_PYTHON) expect((await second.run(path)).codes).toEqual([]);
      }),
      { numRuns: RUNS },
    );
  },
  PROCESS_TEST_MS,
);

test("a workspace verifies, whatever was done in it", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 60 }), async (steps) => {
      const path = join(directory, `${files++}.db`);
      const driver = await Driver.create(path);
      for (const take of steps) await take(driver);
      driver.close();
      const reader = openConnection(path, { readOnly: true });
      const reports = [await verifyWorkspace(reader, { scope: "workspace" })];
      reports.push(await verifyWorkspace(reader, { scope: "workspace" }, { maxKeys: 2 }));
      const division = { from: 1, events: 256 };
      const divided = await verifyDivided(reader, { threads: { count: 2 }, division });
      expect(divided).toEqual(reports[0] as WorkspaceReport);
      for (const agentId of AGENTS) reports.push(await verifyWorkspace(reader, { agentId }));
      const countOf = (operation: string) =>
        reader.get<[number]>("SELECT count(*) FROM events WHERE operation = ?", [operation])?.[0] ?? 0;
      const [roots, erasures] = [countOf("state.root"), countOf("data.erase")];
      reader.close();
      expect(reports.flatMap(({ problems }) => problems)).toEqual([]);
      const { recomputed = 0, not_recomputed: left = 0 } = reports[0]?.stateRoots ?? {};
      expect(recomputed + left).toBe(roots);
      // What is erased later was there when the root was computed.
      if (erasures === 0) expect(left).toBe(0);
      if (HAS_PYTHON) expect((await second.run(path)).codes).toEqual([]);
    }),
    { numRuns: RUNS },
  );
});

/** Changes of a stored row that leave the agents' counts right. */
const CHANGES = [
  "DELETE FROM entries",
  "UPDATE entries SET live_to = NULL",
  "UPDATE entries SET live_to = (SELECT max(seq) FROM events)",
  "UPDATE entries SET created_seq = written_seq, created_at = updated_at",
  "UPDATE entries SET quarantined = NULL",
  "UPDATE entries SET quarantined = (SELECT max(seq) FROM events WHERE operation = 'quarantine.set')",
  "DELETE FROM checkpoints",
  "DELETE FROM configs",
].map((sql) => {
  const [, table = ""] = /(entries|checkpoints|configs)/.exec(sql) ?? [];
  return `${sql} WHERE rowid = (SELECT rowid FROM ${table} ORDER BY rowid LIMIT 1 OFFSET ? % (SELECT count(*) FROM ${table}))`;
});

test.skipIf(!HAS_PYTHON)("both programs say the same of a workspace of which a row was changed", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 20, maxLength: 60 }),
      fc.constantFrom(...CHANGES),
      fc.nat(99),
      async (steps, sql, row) => {
        const path = join(directory, `${files++}.db`);
        const driver = await Driver.create(path);
        for (const take of steps) await take(driver);
        driver.close();
        const connection = openConnection(path);
        try {
          connection.run(sql, [row]);
          recount(connection);
        } catch {
          return; // the database refuses it: another entry of the key is present
        } finally {
          connection.close();
        }
        await expectSameCodes(path);
      },
    ),
    { numRuns: RUNS },
  );
});

test.skipIf(!HAS_PYTHON)("an entry that was put back is stale also when the later one of its key expired", async () => {
  const path = join(directory, `${files++}.db`);
  const driver = await Driver.create(path);
  await driver.write("a", "k", "x");
  await driver.perform("checkpoint.create", { agentId: "a", label: null, metadata: {} });
  const expiry = { afterMs: HOUR_MS };
  await driver.perform("data.write", { agentId: "a", key: "k", value: "z", metadata: {}, expiry });
  driver.passDays(1);
  await driver.sweep();
  driver.connection.run("UPDATE entries SET live_to = NULL WHERE live_from = (SELECT min(live_from) FROM entries)", []);
  recount(driver.connection);
  driver.close();
  expect(await expectSameCodes(path)).toEqual(["content_stale"]);
});

test.skipIf(!HAS_PYTHON)("a config that is missing is the problem, not what expired under it", async () => {
  const path = join(directory, `${files++}.db`);
  const driver = await Driver.create(path);
  await driver.perform("config.update", { agentId: "a", config: { policies: { retention_days: 1 } } });
  await driver.write("a", "k", "x");
  driver.passDays(2);
  await driver.perform("data.read", { agentId: "a", key: "k" });
  driver.connection.run("DELETE FROM configs", []);
  driver.close();
  expect(await expectSameCodes(path)).toEqual(["content_missing"]);
});

/** Expects that both programs name the same problems of a workspace. Returns their codes. */
async function expectSameCodes(path: string): Promise<string[]> {
  const { report } = await verifyDatabaseFile({ path, immutable: false }, { path });
  const codes = codesOf(report.problems.map(({ code }) => code));
  const said = await second.run(path);
  expect(codesOf(said.codes), said.out).toEqual(codes);
  return codes;
}
