/** Writes are looked at before their turn, together: what they come to is what it would be in their turn. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import type { JsonObject } from "../../src/json.ts";
import type { Job, Settled } from "../../src/workspace/perform.ts";
import { bodyOf, OpenWorkspace } from "../support/open-workspace.ts";
import { type TemporaryDirectory, temporaryDirectory } from "../temporary.ts";

const PERSONAL = "write to maria.keller@posteo.de about it";

let directory: TemporaryDirectory;
let workspace: OpenWorkspace;

beforeEach(async () => {
  directory = temporaryDirectory();
  workspace = await OpenWorkspace.make(directory.path);
});
afterEach(() => {
  workspace[Symbol.dispose]();
  directory[Symbol.dispose]();
});

const writing = (agentId: string, key: string) =>
  workspace.job("data.write", { agentId, key, value: PERSONAL, metadata: {} });
const policies = (agentId: string, asked: JsonObject) =>
  workspace.job("config.update", { agentId, config: { policies: asked } });
const allowed = (settled: Settled[]) =>
  settled.map((one) => (one.answer.kind === "json" ? bodyOf(one).allowed : one.answer.kind));

test("policies count from the operation on that brought them into force, also within a group", async () => {
  const [on, off] = [{ block_pii: true }, { block_pii: false }];
  for (let round = 0; round < 2; round++) {
    const settled = await workspace.writer.perform([
      policies("a", off),
      writing("a", "1"),
      policies("a", on),
      writing("a", "2"),
      policies("b", on),
      writing("b", "3"),
      policies("a", off),
      writing("a", "4"),
      writing("b", "5"),
    ]);
    // In the second round the agents are in memory, with the policies of the first.
    expect(allowed(settled).filter((_, i) => ![0, 2, 4, 6].includes(i))).toEqual([
      true,
      false,
      false,
      true,
      false,
    ]);
  }
});

test("another process's policies count from the next group on", async () => {
  await workspace.writer.perform([writing("a", "1")]);
  {
    using beside = new OpenWorkspace(workspace.path);
    await beside.perform("config.update", { agentId: "a", config: { policies: { block_pii: true } } });
  }
  expect(allowed(await workspace.writer.perform([writing("a", "2")]))).toEqual([false]);
});

test("one that fails when it is looked at costs only itself, and writes nothing", async () => {
  const broken: Job = {
    ...writing("a", "broken"),
    prepare() {
      throw new TypeError(PERSONAL);
    },
  };
  const settled = await workspace.writer.perform([writing("a", "1"), broken, writing("a", "2")]);
  expect(settled.map(({ answer }) => (answer.kind === "problem" ? answer.code : answer.kind))).toEqual([
    "json",
    "internal",
    "json",
  ]);
  expect(JSON.stringify(settled)).not.toContain(PERSONAL);
  expect(workspace.failures.map(({ operation }) => operation)).toEqual(["data.write"]);
  expect((await workspace.perform("data.read", { agentId: "a", key: "broken" })).answer.kind).toBe("problem");
});
