/** A checkpoint's state is read in pages, and is the same whatever is written meanwhile. */
import { expect, test } from "bun:test";
import { readAgent } from "../../src/core/rows/agents.ts";
import { CheckpointState, findCheckpoint } from "../../src/core/rows/checkpoints.ts";
import { freshAt } from "../../src/screen/retention.ts";
import { bodyOf, OpenWorkspace } from "../support/open-workspace.ts";
import { temporaryDirectory } from "../temporary.ts";

const KEYS = Array.from({ length: 20 }, (_, i) => `k${String(i).padStart(2, "0")}`);

test("what is overwritten, deleted or new while it is read changes nothing", async () => {
  using directory = temporaryDirectory();
  using workspace = await OpenWorkspace.make(directory.path);
  const agentId = "a";
  const write = (key: string, value: string) => workspace.perform("data.write", { agentId, key, value, metadata: {} });
  for (const key of KEYS) await write(key, "then");
  const { id } = bodyOf(await workspace.perform("checkpoint.create", { agentId, label: null, metadata: {} }));
  // Every third was overwritten before it is read, some twice.
  for (const [i, key] of KEYS.entries()) for (let n = 0; n < i % 3; n++) await write(key, `before ${n}`);
  await write("k00/new", "new");
  const checkpoint = await findCheckpoint(workspace.connection, id, null);
  const agent = await readAgent(workspace.connection, agentId);
  if (checkpoint === undefined || agent === null) throw new Error("the checkpoint is gone");
  const fresh = freshAt(agent.policies, { nowMs: Date.now(), seesSetAside: false });
  for (const size of [1, 3, 7, 100]) {
    const state = new CheckpointState(workspace.connection, checkpoint, fresh, null);
    const read: [string, string][] = [];
    for (let round = 0; ; round++) {
      const page = await state.entries(size);
      read.push(...page.map(({ key, value }): [string, string] => [key, JSON.parse(value)]));
      if (page.length < size) break;
      await write(KEYS[(round * 7 + 5) % KEYS.length] as string, `meanwhile ${round}`);
      await workspace.perform("data.delete", { agentId, key: KEYS[(round * 5 + 9) % KEYS.length] as string });
    }
    expect(read).toEqual(KEYS.map((key) => [key, "then"]));
    const behind = new CheckpointState(workspace.connection, checkpoint, fresh, KEYS[4] as string);
    expect((await behind.entries(3)).map(({ key }) => key)).toEqual(KEYS.slice(5, 8));
    const written = await new CheckpointState(workspace.connection, checkpoint, fresh, null).writes(100);
    expect(written).toEqual(KEYS.map((_, i) => i + 1));
  }
});
