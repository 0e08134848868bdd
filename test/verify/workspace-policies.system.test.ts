/** Entries that were past the retention of the workspace's policies are not missed, and no others may be gone. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { openConnection } from "../../src/store/connection.ts";
import { verifyDatabaseFile } from "../../src/verify/sources.ts";
import { copyDatabase } from "../database-files.ts";
import { temporaryDirectory } from "../temporary.ts";
import { Driver } from "./sample-workspace.ts";
import { codesOf, HAS_PYTHON, SecondVerifier } from "./second-verifier.ts";

const directory = temporaryDirectory();
const second = new SecondVerifier();
const path = directory.join("floor.db");

beforeAll(async () => {
  const driver = await Driver.create(path);
  const floor = (policies: Record<string, number>) =>
    driver.perform("policies.update", { workspacePolicies: { policies } });
  await driver.write("without", "old", "removed");
  await driver.write("with", "old", "removed");
  await driver.perform("config.update", { agentId: "with", config: { policies: { retention_days: 9 } } });
  await floor({ retention_days: 2 });
  driver.passDays(3);
  await driver.write("without", "old", "after the first one expired");
  await driver.perform("checkpoint.create", { agentId: "with", label: null, metadata: {} });
  await driver.sweep();
  await floor({});
  await driver.write("with", "kept", "v");
  driver.passDays(3);
  await driver.write("without", "kept", "v");
  await driver.sweep();
  driver.close();
});
afterAll(async () => {
  await second[Symbol.asyncDispose]();
  directory[Symbol.dispose]();
});

/** The codes that both programs name. */
async function codes(changedPath: string): Promise<string[]> {
  const { report } = await verifyDatabaseFile({ path: changedPath, immutable: false }, { path: changedPath });
  const found = codesOf(report.problems.map(({ code }) => code));
  if (HAS_PYTHON) expect(codesOf((await second.run(changedPath)).codes)).toEqual(found);
  return found;
}

function changed(name: string, ...sql: string[]): string {
  const copy = directory.join(name);
  copyDatabase(path, copy);
  const connection = openConnection(copy);
  for (const one of sql) connection.run(one);
  connection.truncateLog();
  connection.close();
  return copy;
}

test("nothing is missed that was past it", async () => {
  expect(await codes(path)).toEqual([]);
});

test("what was written under policies without it is missed", async () => {
  const gone = ["DELETE FROM entries WHERE key = 'kept'", "UPDATE events SET entries = entries - 1"];
  expect(await codes(changed("gone.db", gone[0] as string, `${gone[1]} WHERE agent_id IS NOT NULL`))).toEqual([
    "content_changed",
  ]);
});

test("policies with another retention are found", async () => {
  const sql = `UPDATE configs SET config = '{"policies":{"retention_days":1}}' WHERE agent = 0 AND version = 2`;
  expect(await codes(changed("longer.db", sql))).toEqual(["content_mismatch"]);
});

test("the verification of one agent says that the retention of the workspace's policies is not covered", async () => {
  const wish = { path, agentId: "without" };
  const { report } = await verifyDatabaseFile({ path, immutable: false }, wish);
  expect([report.problems, report.not_covered]).toEqual([
    [],
    [expect.stringContaining("the retention of the workspace's policies")],
  ]);
});
