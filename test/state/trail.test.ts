/** Pages of the trail. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { listTrail } from "../../src/core/rows/log/trail.ts";
import type { OperationInputs } from "../../src/operations.ts";
import { openConnection } from "../../src/store/connection.ts";
import { OpenWorkspace } from "../support/open-workspace.ts";
import { type TemporaryDirectory, temporaryDirectory } from "../temporary.ts";

type Query = Omit<OperationInputs["audit.query"], "page">;

const PACE = { monotonicMs: () => 0, pause: async () => {} };
const MANY = 1_000;

let directory: TemporaryDirectory;
let workspace: OpenWorkspace;
beforeAll(async () => {
  directory = temporaryDirectory();
  workspace = await OpenWorkspace.make(directory.path);
  for (const agentId of ["a", "b"]) await workspace.perform("config.update", { agentId, config: { policies: {} } });
  for (let i = 0; i < 30; i++) {
    const agentId = i % 3 === 0 ? "b" : "a";
    await workspace.perform("data.write", { agentId, key: `k${i % 4}`, value: "v", metadata: {} });
    await workspace.perform("data.read", { agentId, key: i % 5 === 0 ? "absent" : `k${i % 4}` });
  }
});
afterAll(() => {
  workspace[Symbol.dispose]();
  directory[Symbol.dispose]();
});

test("a page is the part of the whole list that its offset and limit name, whatever the filter and the order", async () => {
  const scopes: Query["scope"][] = [{ agentId: "a" }, { agentId: "absent" }, { scope: "workspace" }, { scope: "all" }];
  const filters: Partial<Query>[] = [
    {},
    { operations: ["data.write"] },
    { results: ["not_found"] },
    { operations: ["data.write", "data.read"], results: ["ok", "allowed"] },
    { key: "k1" },
    { modes: ["block"] },
    { window: { startMs: 0, endMs: 1 } },
    { window: { startMs: 1 } },
  ];
  using connection = openConnection(workspace.path, { readOnly: true });
  for (const scope of scopes)
    for (const filter of filters)
      for (const order of [undefined, "asc"] as const) {
        const query = { window: {}, scope, ...filter, ...(order && { order }) } as Query;
        const list = (page: { offset: number; limit: number }) =>
          listTrail(connection, { ...query, page } as OperationInputs["audit.query"], PACE);
        const whole = await list({ offset: 0, limit: MANY });
        for (const offset of [1, 2, 7, 19, 40, 70])
          for (const limit of [1, 5, MANY]) {
            const page = await list({ offset, limit });
            expect(page.events).toEqual(whole.events.slice(offset, offset + limit));
            expect(page.next !== null).toBe(whole.events.length > offset + limit);
          }
      }
});
