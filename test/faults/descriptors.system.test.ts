/** Many workspaces are used and sealed in turn: few of them are open at once, and file descriptors do not run out. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { newSealKey, readSealKey } from "../../src/datadir/seal-key.ts";
import { systemClock } from "../../src/ids.ts";
import { WorkspacePool } from "../../src/threads/pool.ts";
import { effort } from "../effort.ts";
import { eventually } from "../eventually.ts";
import { filesReleased } from "../released.ts";
import { anybody, makeWorkspace } from "../support/open-workspace.ts";
import { poolOptions } from "../support/pool-options.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";

const WORKSPACES = effort({ usual: 300, long: 3_000 });
setDefaultTimeout(PROCESS_TEST_MS + 60 * WORKSPACES);

const OPEN_FILES = "/proc/self/fd";
/** 128 open workspaces and 64 closed ones that are not released yet, with three files each, and a margin for what the
 * collector finds late. */
const MOST = 3 * (128 + 64) + 128;

test.skipIf(!existsSync(OPEN_FILES))(
  "one write in each of many workspaces, then their seals, open few files",
  async () => {
    using directory = temporaryDirectory();
    const sealKey = { kind: "pem", pem: newSealKey() } as const;
    const { publicBytes } = readSealKey(sealKey);
    const ids: string[] = [];
    for (let i = 0; i < WORKSPACES; i++) {
      ids.push(await makeWorkspace(directory.path, systemClock, publicBytes));
      if (i % 50 === 49) await filesReleased();
    }
    await filesReleased();
    const failures: string[] = [];
    await using pool = new WorkspacePool(
      poolOptions(directory.path, sealKey, {
        sealIntervalMs: 10_000,
        onFailure: ({ where, name }) => void failures.push(`${where}: ${name}`),
      }),
    );
    await pool.ready();
    const before = readdirSync(OPEN_FILES).length;
    let most = 0;
    const count = () => {
      most = Math.max(most, readdirSync(OPEN_FILES).length - before);
    };
    for (const id of ids) {
      const input = { agentId: "a", key: "k", value: "v", metadata: {} };
      const { answer } = await pool.perform({ name: "data.write", input, principal: anybody(id) });
      expect(answer.kind).toBe("json");
      count();
    }
    await eventually("everything is sealed", () => {
      count();
      return readdirSync(directory.path).filter((name) => name.endsWith(".log")).length === WORKSPACES;
    });
    expect({ failures, down: pool.down.size }).toEqual({ failures: [], down: 0 });
    expect(most).toBeLessThan(MOST);
  },
);
