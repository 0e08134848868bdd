/** The rows of a list: values and their sizes, and what a damaged file may have in their place. */
import { expect, test } from "bun:test";
import { readAgent } from "../../src/core/rows/agents.ts";
import { readPage } from "../../src/ops/data/page.ts";
import { OpenWorkspace } from "../support/open-workspace.ts";
import { temporaryDirectory } from "../temporary.ts";

const VALUES: readonly string[] = [
  ...["plain", "", "\u00e9\u{1F600}", 'quoted "and" \\ more', "nul \u0000 and a tab\t", "\u0080"],
  ...["long ".repeat(50_000), "\u00e9".repeat(50_000), "line\n".repeat(50_000)],
];

async function filled(directory: string): Promise<OpenWorkspace> {
  const workspace = await OpenWorkspace.make(directory);
  const entries = VALUES.map((value, number) => ({ agentId: "agent", key: `k${number}`, value, metadata: {} }));
  for (const entry of entries) await workspace.perform("data.write", entry);
  return workspace;
}

async function listed({ connection }: OpenWorkspace, asked: { includeValues: boolean; sort?: "updated_at" }) {
  const input = { prefix: "", page: { limit: 100, offset: 0 }, ...asked };
  const moment = { nowMs: Date.now(), seesSetAside: false, pause: async () => {} };
  const { items } = await readPage(connection, await readAgent(connection, "agent"), input, moment);
  return items.map((item) => JSON.parse(item) as { value?: string; size: number });
}

test.each([{}, { sort: "updated_at" as const }])(
  "values and sizes are those that were written: %p",
  async (sorting) => {
    using directory = temporaryDirectory();
    using workspace = await filled(directory.path);
    const sizes = VALUES.map((value) => Buffer.byteLength(value));
    const withValues = await listed(workspace, { includeValues: true, ...sorting });
    expect(withValues.map(({ value }) => value)).toEqual([...VALUES]);
    expect(withValues.map(({ size }) => size)).toEqual(sizes);
    const without = await listed(workspace, { includeValues: false, ...sorting });
    expect(without.map(({ value }) => value)).toEqual(VALUES.map(() => undefined));
    expect(without.map(({ size }) => size)).toEqual(sizes);
  },
);

test.each(["key", "metadata", "value"])("a damaged %s is reported as damage", async (column) => {
  using directory = temporaryDirectory();
  using workspace = await filled(directory.path);
  workspace.connection.run(
    `UPDATE entries SET ${column} = CAST(CAST(${column} AS BLOB) || x'5cff' AS TEXT) WHERE key = 'k3'`,
  );
  for (const includeValues of [true, false]) {
    await expect(listed(workspace, { includeValues })).rejects.toMatchObject({ code: "SQLITE_CORRUPT" });
  }
});
