/** Three nodes on one server, under random clients, while everything fails that can. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { effort } from "../effort.ts";
import { SEED } from "../seed.ts";
import { LIBSQL_SERVER } from "../support/libsql-server.ts";
import { PROCESS_TEST_MS } from "../temporary.ts";
import { chaos } from "./chaos.ts";

const MS = effort({ usual: 6_000, long: 600_000 });

setDefaultTimeout(MS + 3 * PROCESS_TEST_MS);

test.skipIf(LIBSQL_SERVER === null)(
  "nothing acknowledged is lost, doubled or out of order, and nothing is half applied",
  async () => {
    const seen = await chaos({
      seed: SEED,
      ms: MS,
      freezeMs: effort({ usual: 2_000, long: 14_000 }),
      workspaces: 2,
      clients: 4,
    });
    expect(seen.violations).toEqual([]);
    // Most seeds get several hundred. One with many faults got 50 while other tests ran.
    expect(seen.answered).toBeGreaterThan(20);
    if (MS > 60_000) console.error(JSON.stringify(seen));
  },
);
