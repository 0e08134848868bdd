/** Operations that share a transaction see what those before them did. */
import { expect, test } from "bun:test";
import { bodyOf, OpenWorkspace } from "../support/open-workspace.ts";
import { temporaryDirectory } from "../temporary.ts";

test("an agent is suspended in the transaction in which it began", async () => {
  using directory = temporaryDirectory();
  using workspace = await OpenWorkspace.make(directory.path);
  const write = (key: string) => workspace.job("data.write", { agentId: "a", key, value: "v", metadata: {} });
  const [, , suspended, refused] = await workspace.writer.perform([
    write("one"),
    write("two"),
    workspace.job("agent.suspend", { agentId: "a", reason: null }),
    write("three"),
  ]);
  expect(bodyOf(suspended as never)).toMatchObject({ state: "suspended", entries: 2, events: 3 });
  expect(refused?.answer).toMatchObject({ kind: "problem", code: "agent_suspended" });
});
