/** An answer that was looked up before the file was brought up to date is looked up again, whoever brought it up to date. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { type Engine, embeddedEngine } from "../../src/core/writer/engine.ts";
import { openWorkspaceFile } from "../../src/core/writer/file.ts";
import { WorkspaceWriter } from "../../src/core/writer/perform.ts";
import { systemClock } from "../../src/ids.ts";
import { jobOf } from "../../src/serve/threads/registry.ts";
import { anybody, makeWorkspace } from "../support/open-workspace.ts";
import { temporaryDirectory } from "../temporary.ts";

const EMPTY_PAGE = { data: [], has_more: false, next_cursor: null };

test("a transaction between lookup and record that brings the file up to date makes the lookup out of date", async () => {
  using directory = temporaryDirectory();
  const id = await makeWorkspace(directory.path, systemClock);
  const connection = openWorkspaceFile(join(directory.path, `${id}.db`));
  let isBehind = false;
  const engine: Engine = { ...embeddedEngine(connection), begin: () => isBehind };
  const heads: number[] = [];
  const writer = new WorkspaceWriter(connection, { engine, onHead: ({ seq }) => void heads.push(seq) });
  const principal = anybody(id);
  const write = (key: string) =>
    writer.perform([
      jobOf({ name: "data.write", input: { agentId: "a", key, value: "v", metadata: {} } as never, principal }),
    ]);
  const query = async (lookedAt: number) => {
    const input = { agentId: "a", prefix: "k" } as never;
    const [reply] = await writer.perform([
      jobOf({ name: "data.query", input, principal, lookedAt }, EMPTY_PAGE as never),
    ]);
    return reply?.again === true;
  };
  await write("k1");
  const before = writer.headSeq;
  expect(await query(before)).toBe(false);
  isBehind = true;
  await write("k2");
  isBehind = false;
  const refreshed = heads.at(-1) as number;
  expect(await query(before - 1)).toBe(true);
  expect(await query(refreshed)).toBe(false);
  expect(await query(-1)).toBe(true);
  // The caller learns where the log ends, so that its next lookup is not refused.
  expect(heads.at(-1)).toBe(writer.headSeq);
  writer.close();
});
