/** The full-text index across threads: a search requests it, the writer builds it, and it survives a restart. */

import { expect, test } from "bun:test";
import { join } from "node:path";
import { newSealKey } from "../../src/core/datadir/seal-key.ts";
import { wholeText } from "../../src/core/long-text.ts";
import type { OperationInputs, OperationName } from "../../src/operations.ts";
import type { FailureReport } from "../../src/serve/threads/messages.ts";
import { WorkspacePool } from "../../src/serve/threads/pool.ts";
import { PROCESS_TEST_MS } from "../patience.ts";
import { anybody, makeWorkspace, OpenWorkspace } from "../support/open-workspace.ts";
import { poolOptions } from "../support/pool-options.ts";
import { temporaryDirectory } from "../temporary.ts";

const ENTRIES = 400;
const WAIT_MS = 10;

test(
  "a large agent gets full text, and is searched by it, across a restart",
  async () => {
    using directory = temporaryDirectory();
    const workspaceId = await makeWorkspace(directory.path);
    const failures: FailureReport[] = [];
    const open = async () => {
      const pool = new WorkspacePool(
        poolOptions(
          directory.path,
          { kind: "pem", pem: newSealKey() },
          {
            searchMemoryBytes: 64 * 1024 * 1024,
            fullTextFrom: 100,
            sealIntervalMs: 10_000,
            onFailure: (failure) => void failures.push(failure),
          },
        ),
      );
      await pool.ready();
      const ask = async <N extends OperationName>(name: N, input: OperationInputs[N]) => {
        const { answer } = await pool.perform({ name, input, principal: anybody(workspaceId) });
        if (answer.kind !== "json") throw new Error(`${name}: ${JSON.stringify(answer)}`);
        return JSON.parse(wholeText(answer.body));
      };
      const write = (key: string, value: string) => ask("data.write", { agentId: "a", key, value, metadata: {} });
      const first = async (query: string) =>
        (await ask("data.search", { agentId: "a", query, limit: 10, prefix: "", minSimilarity: 0 })).data[0]?.key;
      return { pool, write, first };
    };
    const file = join(directory.path, `${workspaceId}.db`);
    const phase = () => {
      using seen = new OpenWorkspace(file);
      const sql = "SELECT 1 FROM sqlite_schema WHERE name = 'search_agents'";
      if (seen.connection.get(sql) === undefined) return undefined;
      return seen.connection.get<[string]>("SELECT phase FROM search_agents")?.[0];
    };

    const one = await open();
    await Promise.all(Array.from({ length: ENTRIES }, (_, i) => one.write(`k${i}`, `order err-${i} failed`)));
    expect(phase()).toBeUndefined();
    expect(await one.first("err-7")).toBe("k7");
    while (phase() === undefined) await Bun.sleep(WAIT_MS);
    await one.pool.close();

    const two = await open();
    expect(await two.first("err-8")).toBe("k8");
    while (phase() !== "complete") await Bun.sleep(WAIT_MS);
    expect(await two.first("err-9")).toBe("k9");
    await two.write("new", "order err-9000 failed");
    expect(await two.first("err-9000")).toBe("new");
    await two.pool.close();
    // Nobody has the key that seals a workspace of a test.
    expect(failures.filter(({ where }) => !where.startsWith("sealing"))).toEqual([]);
  },
  PROCESS_TEST_MS,
);
