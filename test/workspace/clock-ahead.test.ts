/** What was stored while the clock was ahead does not last until that date. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { insertAnswer } from "../../src/core/rows/answers.ts";
import { sweepWorkspace } from "../../src/core/writer/sweep.ts";
import { Views } from "../../src/core/writer/views.ts";
import { OpenWorkspace } from "../support/open-workspace.ts";
import { type TemporaryDirectory, temporaryDirectory } from "../temporary.ts";

const HOUR_MS = 3_600_000;
const AHEAD_MS = 40 * 24 * HOUR_MS;

let directory: TemporaryDirectory;
let workspace: OpenWorkspace;
let nowMs: number;

beforeEach(async () => {
  nowMs = Date.UTC(2026, 0, 1);
  directory = temporaryDirectory();
  workspace = await OpenWorkspace.make(directory.path, () => nowMs);
});
afterEach(() => {
  workspace[Symbol.dispose]();
  directory[Symbol.dispose]();
});

const stored = () => workspace.connection.value<number>("SELECT stored_at FROM answers");
const sweep = () => sweepWorkspace(workspace.connection, workspace.writer);

test("an answer for retries is kept for a day from now, since a retry may still come", async () => {
  const retry = { id: "ab".repeat(32), request: "cd".repeat(32) };
  nowMs += AHEAD_MS;
  await workspace.writer.derive((tx, at) =>
    insertAnswer(tx, retry, { reply: "{}", body: "{}" }, { seq: 0, nowMs: at }),
  );
  nowMs -= AHEAD_MS;
  await sweep();
  expect(stored()).toBe(nowMs);
  nowMs += 23 * HOUR_MS;
  await sweep();
  expect(stored()).toBeDefined();
  nowMs += 2 * HOUR_MS;
  await sweep();
  expect(stored()).toBeUndefined();
});

test("a view of a person ends, and the next one is recorded", async () => {
  const { auditId } = await workspace.perform("data.write", { agentId: "a", key: "k", value: "v", metadata: {} });
  const views = new Views(workspace.connection);
  const view = { name: "somebody's", details: { operation: "data.read" as const } };
  views.begin(view, auditId as string, nowMs);
  expect(await views.eventOf(view, nowMs + 1_000)).toBe(auditId as string);
  views.begin(view, auditId as string, nowMs + AHEAD_MS);
  expect(await views.eventOf(view, nowMs)).toBeNull();
});
