/** The index by age: there where a retention is or was, nowhere else, and nothing depends on it but speed. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { AGE_INDEX } from "../../src/core/rows/age-index.ts";
import { readAgent } from "../../src/core/rows/agents.ts";
import { insertConfig } from "../../src/core/rows/configs.ts";
import { rowsByKey } from "../../src/core/rows/listing/keys.ts";
import { WORKSPACE_MIGRATIONS } from "../../src/core/writer/file.ts";
import { sweepWorkspace } from "../../src/core/writer/sweep.ts";
import { openConnection } from "../../src/store/connection.ts";
import { copyDatabase } from "../../src/store/snapshot.ts";
import { schemaChanges } from "../../src/verify/rows/schema.ts";
import { verifyDatabaseFile } from "../../src/verify/sources.ts";
import { bodyOf, OpenWorkspace } from "../support/open-workspace.ts";
import { type TemporaryDirectory, temporaryDirectory } from "../temporary.ts";

const DAY_MS = 86_400_000;
const RETENTION = { policies: { retention_days: 2 } };
const MANY = 3_000;

let directory: TemporaryDirectory;
let nowMs: number;
let workspace: OpenWorkspace;
const clock = () => nowMs;

beforeEach(async () => {
  directory = temporaryDirectory();
  nowMs = Date.UTC(2026, 0, 1);
  workspace = await OpenWorkspace.make(directory.path, clock);
});
afterEach(() => {
  expect(workspace.failures).toEqual([]);
  workspace[Symbol.dispose]();
  directory[Symbol.dispose]();
});

const isThere = (connection = workspace.connection): boolean =>
  connection.get("SELECT 1 FROM sqlite_schema WHERE type = 'index' AND name = ?", [AGE_INDEX]) !== undefined;

const lose = () => workspace.connection.exec(`DROP INDEX ${AGE_INDEX}`);

const configure = async (agentId: string, config: object) =>
  bodyOf(await workspace.perform("config.update", { agentId, config: config as never }));

const write = (agentId: string, key: string) =>
  workspace.job("data.write", { agentId, key, value: `of ${key}`, metadata: {} });

const checkpoint = async (agentId: string) =>
  bodyOf(await workspace.perform("checkpoint.create", { agentId, label: null, metadata: {} }));

async function listed(agentId: string): Promise<string[]> {
  const agent = await readAgent(workspace.connection, agentId);
  const range = { order: undefined, prefix: "", after: null, limit: 2 * MANY };
  return (
    await rowsByKey<[string]>(workspace.connection, agent as never, "key", range, { nowMs, seesSetAside: false })
  ).map(([key]) => key);
}

const integrity = () => workspace.connection.get("PRAGMA integrity_check");

const verdict = async (path = workspace.path) =>
  (await verifyDatabaseFile({ path, immutable: false }, { path })).verdict;

describe("is made with the configuration that has a retention", () => {
  test("and not before: neither data nor other policies need it", async () => {
    await workspace.writer.perform([write("a", "k")]);
    await configure("a", { policies: { block_pii: true }, retention_days: 1 });
    expect(isThere()).toBe(false);
    await configure("a", RETENTION);
    expect(isThere()).toBe(true);
    expect(await verdict()).toBe("verified");
  });

  test("and stays when the retention goes", async () => {
    await configure("a", RETENTION);
    await configure("a", {});
    expect(isThere()).toBe(true);
    expect(await verdict()).toBe("verified");
  });

  test("also by a rollback", async () => {
    await configure("a", RETENTION);
    await configure("a", {});
    lose();
    await workspace.perform("config.rollback", { agentId: "a", version: "v1" });
    expect(isThere()).toBe(true);
  });

  test("also by a restore, if that restores the configuration", async () => {
    await configure("a", RETENTION);
    const { id: checkpointId } = await checkpoint("a");
    await configure("a", {});
    lose();
    const restore = (restoreConfig: boolean) =>
      workspace.perform("checkpoint.restore", { checkpointId, restoreConfig, restoreData: true });
    await restore(false);
    expect(isThere()).toBe(false);
    await restore(true);
    expect(isThere()).toBe(true);
    expect(await verdict()).toBe("verified");
  });

  test("in the same transaction: a failed one rolls it back", async () => {
    const { connection } = workspace;
    connection.exec("BEGIN IMMEDIATE");
    const config = { version: 1, config: JSON.stringify(RETENTION), salt: "00".repeat(16), rolledBackFrom: null };
    await insertConfig(connection, 1, config, 1);
    expect(isThere()).toBe(true);
    connection.exec("ROLLBACK");
    expect(isThere()).toBe(false);
  });

  test("while another process has the file open and writes to it", async () => {
    using other = new OpenWorkspace(workspace.path, clock);
    await workspace.writer.perform([write("a", "k"), write("a", "l")]);
    await other.perform("config.update", { agentId: "a", config: RETENTION });
    await workspace.writer.perform([write("a", "k"), write("a", "m")]);
    expect(integrity()).toEqual(["ok"]);
    nowMs += 3 * DAY_MS;
    await workspace.writer.perform([write("a", "k")]);
    await sweepWorkspace(other.connection, other.writer);
    expect(workspace.connection.all("SELECT key FROM entries")).toEqual([["k"]]);
    expect([integrity(), await verdict()]).toEqual([["ok"], "verified"]);
  });
});

test("a copy of the file has it, or does not have it, as the file", async () => {
  const copied = (name: string): boolean => {
    copyDatabase(workspace.path, directory.join(name));
    const connection = openConnection(directory.join(name), { readOnly: true });
    try {
      return isThere(connection);
    } finally {
      connection.close();
    }
  };
  expect(copied("without.db")).toBe(false);
  await configure("a", RETENTION);
  expect(copied("with.db")).toBe(true);
  expect([await verdict(directory.join("without.db")), await verdict(directory.join("with.db"))]).toEqual([
    "verified",
    "verified",
  ]);
});

describe("retention that comes late to an agent with many entries", () => {
  const names = (count: number) => Array.from({ length: count }, (_, number) => `k${number}`);

  beforeEach(async () => {
    await workspace.writer.perform(names(MANY).map((key) => write("a", key)));
    await workspace.writer.perform(names(10).map((key) => write("other", key)));
    await checkpoint("a");
    nowMs += 3 * DAY_MS;
    await workspace.writer.perform(["k0", "k1", "new"].map((key) => write("a", key)));
    await configure("a", RETENTION);
  });

  test.each([
    ["with the index", () => {}],
    ["without it", lose],
  ])("hides at once, and is swept: %s", async (_, change) => {
    change();
    expect(await listed("a")).toEqual(["k0", "k1", "new"]);
    expect((await checkpoint("a")).entry_count).toBe(3);
    expect(await verdict()).toBe("verified");
    await sweepWorkspace(workspace.connection, workspace.writer);
    const kept = workspace.connection.all(
      "SELECT agent_id, count(*) FROM entries JOIN agents ON agent = first_seq GROUP BY 1",
    );
    expect(kept).toEqual([
      ["a", 3],
      ["other", 10],
    ]);
    expect(await listed("other")).toHaveLength(10);
    expect([integrity(), await verdict()]).toEqual([["ok"], "verified"]);
  });
});

describe("the schema check", () => {
  const accepts = () => schemaChanges(workspace.connection, WORKSPACE_MIGRATIONS).length === 0;

  test("accepts both, whatever the configurations say", async () => {
    expect(accepts()).toBe(true);
    await configure("a", RETENTION);
    expect(accepts()).toBe(true);
    lose();
    expect(accepts()).toBe(true);
  });

  test.each([
    `CREATE INDEX ${AGE_INDEX} ON entries (updated_at, agent)`,
    `CREATE INDEX ${AGE_INDEX} ON entries (agent, updated_at) WHERE live_to IS NULL`,
    `CREATE UNIQUE INDEX ${AGE_INDEX} ON entries (agent, updated_at)`,
    `CREATE INDEX ${AGE_INDEX} ON events (seq)`,
    `CREATE INDEX ${AGE_INDEX}_too ON entries (agent, updated_at)`,
    `CREATE TABLE ${AGE_INDEX} (agent, updated_at)`,
    `CREATE VIEW ${AGE_INDEX} AS SELECT agent, updated_at FROM entries`,
    `CREATE TRIGGER ${AGE_INDEX} AFTER DELETE ON entries BEGIN SELECT 1; END`,
  ])("refuses %s", (sql) => {
    workspace.connection.exec(sql);
    expect(accepts()).toBe(false);
  });
});
