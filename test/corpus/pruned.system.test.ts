/**
 * Nobody can remove what a pruning kept, or exchange it for what was pruned: the rows that were written before it and
 * have not changed since, and the events that they are from. The attacker has a copy of the file from before the
 * pruning.
 */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { findSuspension } from "../../src/core/rows/suspension.ts";
import { TILE_WIDTH } from "../../src/log/tiles.ts";
import { type Connection, openConnection } from "../../src/store/connection.ts";
import { verifyDatabaseFile } from "../../src/verify/sources.ts";
import { doubled } from "../support/event-rows.ts";
import { inMemory } from "../temporary.ts";
import { pruneTiles } from "../verify/pruning.ts";
import { Driver } from "../verify/sample-workspace.ts";
import { codesOf, HAS_PYTHON, SecondVerifier } from "../verify/second-verifier.ts";
import { recount, restateLast } from "./rewrite.ts";

const AGENT = "a";
const directory = mkdtempSync(join(inMemory(), "governd-pruned-"));
const second = new SecondVerifier();
/** Three files: before the pruning, after it and later events, and after one whose event does not state what it kept. */
const [whole, stated, silent] = ["whole", "stated", "silent"].map((name) => join(directory, `${name}.db`)) as [
  string,
  string,
  string,
];

/** The salt of a version that was overwritten, from an earlier copy of the file. */
let saltOfTwo: string;

async function make(path: string): Promise<void> {
  const driver = await Driver.create(path);
  const checkpoint = async (label: string) =>
    (await driver.perform("checkpoint.create", { agentId: AGENT, label, metadata: {} })).id as string;
  await driver.perform("data.read", { agentId: AGENT, key: "first" });
  await driver.perform("config.update", { agentId: AGENT, config: { model: "m-1", policies: { history_days: 0 } } });
  await driver.perform("config.update", { agentId: AGENT, config: { model: "m-2", policies: { history_days: 0 } } });
  for (const value of ["one", "two", "three"]) {
    await driver.write(AGENT, "twice", value);
    if (value === "two") saltOfTwo = driver.connection.value<string>("SELECT salt FROM entries") as string;
  }
  for (const key of ["still", "erased", "deleted", "written"]) await driver.write(AGENT, key, "old");
  await driver.write(AGENT, "past", "before");
  await checkpoint("kept");
  const removed = await checkpoint("removed later");
  await driver.write(AGENT, "past", "after");
  await driver.write("b", "still", "of b");
  await driver.write("c", "still", "of c");
  await driver.perform("agent.suspend", { agentId: "c", reason: null });
  await driver.perform("data.read", { agentId: "c", key: "still" });
  await checkpoint("newest");
  const keys = Array.from({ length: TILE_WIDTH }, () => ["data.read", { agentId: AGENT, key: "still" }] as const);
  await driver.performAll(keys);
  driver.connection.exec(`VACUUM INTO '${whole}'`);
  await pruneTiles(driver, 1);
  await driver.write(AGENT, "written", "new");
  await driver.perform("data.delete", { agentId: AGENT, key: "deleted" });
  await driver.perform("data.erase", { agentId: AGENT, key: "erased" });
  await driver.perform("checkpoint.delete", { checkpointId: removed });
  driver.close();
}

beforeAll(async () => {
  await make(stated);
  copyFileSync(stated, silent);
  const db = openConnection(silent);
  restateLast(db, ({ kept: _, ...details }) => details);
  db.truncateLog();
  db.close();
});
afterAll(async () => {
  await second[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true });
});

test("one agent alone is not compared with what was kept, and the report says so", async () => {
  const asked = { path: stated, agentId: AGENT };
  const { report, verdict } = await verifyDatabaseFile({ path: stated, immutable: true }, asked);
  const why = `whether all stored entries and checkpoints of this agent from before event ${TILE_WIDTH} are there`;
  expect([verdict, report.not_covered]).toEqual(["verified", [expect.stringContaining(why)]]);
  const all = await verifyDatabaseFile({ path: stated, immutable: true }, { path: stated });
  expect(all.report.not_covered).toBeUndefined();
});

type Tampering = [name: string, change: (db: Connection) => void];

const remove = (table: string, where: string) => (db: Connection) => {
  expect(db.change(`DELETE FROM ${table} WHERE ${where}`)).toBe(1);
  recount(db);
};
/** Replaces an event that was kept by a pruned one. */
const exchange = (db: Connection, gone: string, back: string) => {
  expect(db.change(`DELETE FROM events WHERE ${gone}`)).toBe(1);
  putBack(db, back);
};
const putBack = (db: Connection, back: string) => {
  db.run(`ATTACH '${whole}' AS whole`);
  const sql = `${doubled("seq").replace("FROM events", "FROM whole.events")} WHERE ${back} LIMIT 1`;
  expect(db.change(sql)).toBe(1);
};
const READ = "operation = 'data.read' AND agent_seq = 30 AND agent_id = 'a'";
const SECOND_WRITE = `seq = (SELECT min(seq) + 1 FROM whole.events
  WHERE operation = 'data.write' AND details ->> '$.key' = 'twice')`;

const TAMPERINGS: readonly Tampering[] = [
  [
    "an entry removed",
    remove("entries", "key = 'still' AND agent = (SELECT min(first_seq) FROM agents WHERE agent_id = 'a')"),
  ],
  ["the entry of another agent removed", remove("entries", "value = '\"of b\"'")],
  ["a past version removed", remove("entries", "value = '\"before\"'")],
  ["an entry removed whose key has a past version", remove("entries", "value = '\"after\"'")],
  ["a checkpoint removed", remove("checkpoints", "label = 'newest'")],
  [
    "a checkpoint removed with its event",
    (db) => {
      remove("checkpoints", "label = 'newest'")(db);
      exchange(db, "operation = 'checkpoint.create' AND details ->> '$.label' = 'newest'", READ);
    },
  ],
  [
    "an entry removed with its event",
    (db) => {
      remove("entries", "value = '\"of b\"'")(db);
      remove("events", "operation = 'data.write' AND agent_id = 'b'")(db);
    },
  ],
  [
    "an entry back at an earlier value",
    (db) => {
      exchange(db, "seq = (SELECT written_seq FROM entries WHERE key = 'twice')", SECOND_WRITE);
      const sql = `UPDATE entries SET value = '"two"', salt = ?, written_seq = e.seq, live_from = e.seq,
        updated_at = CAST(round((julianday(e.timestamp) - 2440587.5) * 86400000) AS INTEGER)
        FROM events e WHERE entries.key = 'twice' AND e.${SECOND_WRITE}`;
      expect(db.change(sql, [saltOfTwo])).toBe(1);
    },
  ],
  [
    "a config removed with its event",
    (db) => {
      remove("configs", "version = 2")(db);
      exchange(db, "operation = 'config.update' AND details ->> '$.version' = 'v2'", READ);
    },
  ],
  [
    "an entry removed, and the details of its write",
    (db) => {
      const of = "seq = (SELECT written_seq FROM entries WHERE key = 'still' AND value = '\"old\"')";
      expect(db.change(`UPDATE events SET details = NULL, details_salt = NULL WHERE ${of}`)).toBe(1);
      remove("entries", "key = 'still' AND value = '\"old\"'")(db);
    },
  ],
  [
    "the details of the write that created a key gone",
    (db) => {
      const of = "seq = (SELECT created_seq FROM entries WHERE key = 'twice')";
      expect(db.change(`UPDATE events SET details = NULL, details_salt = NULL WHERE ${of}`)).toBe(1);
    },
  ],
  [
    "an entry removed, also from the list",
    (db) => {
      remove(
        "kept_rows",
        "event_seq = (SELECT written_seq FROM entries WHERE key = 'still' AND value = '\"old\"')",
      )(db);
      remove("entries", "key = 'still' AND value = '\"old\"'")(db);
    },
  ],
  [
    "a deleted version that is present again",
    (db) => db.run("UPDATE entries SET live_to = NULL WHERE key = 'deleted'"),
  ],
  [
    "a suspension exchanged for a pruned event",
    (db) => exchange(db, "operation = 'agent.suspend' AND agent_id = 'c'", READ),
  ],
  ["the list dropped", (db) => db.run("DROP TABLE kept_rows")],
  ["the list emptied", (db) => db.run("DELETE FROM kept_rows")],
  [
    "the list numbered otherwise",
    (db) => db.run("UPDATE kept_rows SET id = id + 1 WHERE id = (SELECT max(id) FROM kept_rows)"),
  ],
  ["a position of the list changed", (db) => db.run("UPDATE kept_rows SET live_from = live_from + 1 WHERE id = 2")],
  ["a row added to the list", (db) => db.run("INSERT INTO kept_rows (event_seq) SELECT max(event_seq) FROM kept_rows")],
  ["a pruned event back", (db) => putBack(db, READ)],
  [
    "a kept event exchanged for a pruned one",
    (db) => exchange(db, "seq = (SELECT created_seq FROM configs WHERE version = 1)", READ),
  ],
];

async function verdicts(path: string) {
  const { report } = await verifyDatabaseFile({ path, immutable: false }, { path });
  const said = HAS_PYTHON ? await second.run(path) : null;
  return { ours: codesOf(report.problems.map(({ code }) => code)), theirs: said === null ? null : codesOf(said.codes) };
}

test("what a pruning kept is as its event states it", async () => {
  expect(await verdicts(stated)).toEqual({ ours: codesOf([]), theirs: HAS_PYTHON ? codesOf([]) : null });
  const reader = openConnection(stated, { readOnly: true });
  expect(reader.value<number>("SELECT count(*) FROM events WHERE seq < 256")).toBeLessThan(40);
  expect(await findSuspension(reader, "c")).not.toBeNull();
  reader.close();
});

test.each(TAMPERINGS)("%s: both programs find it", async (_name, change) => {
  const path = join(directory, "changed.db");
  copyFileSync(stated, path);
  const db = openConnection(path);
  change(db);
  db.close();
  const { ours, theirs } = await verdicts(path);
  expect(ours.length).toBeGreaterThan(0);
  if (theirs !== null) expect(theirs.length).toBeGreaterThan(0);
});

test("a pruning that does not state what it kept is no pruning of governd", async () => {
  const { ours, theirs } = await verdicts(silent);
  expect(ours.length).toBeGreaterThan(0);
  if (theirs !== null) expect(theirs.length).toBeGreaterThan(0);
});
