/** The pool of threads: overload, damaged workspaces, a stop in the middle of work. */

import { afterEach, beforeEach, expect, test } from "bun:test";
import { copyFileSync, existsSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newSealKey, readSealKey } from "../../src/core/datadir/seal-key.ts";
import { wholeText } from "../../src/core/long-text.ts";
import type { Bytes, Reply } from "../../src/core/writer/contract.ts";
import { systemClock } from "../../src/ids.ts";
import type { OperationInputs, OperationName } from "../../src/operations.ts";
import type { FailureReport } from "../../src/serve/threads/messages.ts";
import { WorkspacePool } from "../../src/serve/threads/pool.ts";
import { PROCESS_TEST_MS } from "../patience.ts";
import { anybody, makeWorkspace, OpenWorkspace } from "../support/open-workspace.ts";
import { poolOptions } from "../support/pool-options.ts";
import { type TemporaryDirectory, temporaryDirectory } from "../temporary.ts";

const GARBAGE = "no database at all ".repeat(1_000);

const SEAL_KEY = { kind: "pem", pem: newSealKey() } as const;
const PUBLIC_KEY = readSealKey(SEAL_KEY).publicBytes;

let directory: TemporaryDirectory;
let pool: WorkspacePool;
let failures: FailureReport[];

beforeEach(async () => {
  directory = temporaryDirectory();
  failures = [];
  pool = new WorkspacePool(
    poolOptions(directory.path, SEAL_KEY, { threads: 2, onFailure: (failure) => void failures.push(failure) }),
  );
  await pool.ready();
});
afterEach(async () => {
  await pool.close();
  directory[Symbol.dispose]();
});

function ask<N extends OperationName>(workspaceId: string, name: N, input: OperationInputs[N]): Promise<Reply<Bytes>> {
  return pool.perform({ name, input, principal: anybody(workspaceId) });
}
const write = (workspaceId: string, key: string, value = "v") =>
  ask(workspaceId, "data.write", { agentId: "a", key, value, metadata: {} });
const read = (workspaceId: string, key: string) => ask(workspaceId, "data.read", { agentId: "a", key });
const newWorkspace = () => makeWorkspace(directory.path, systemClock, PUBLIC_KEY);
const fileOf = (workspaceId: string) => join(directory.path, `${workspaceId}.db`);
const outcome = ({ answer }: Reply<Bytes>) => (answer.kind === "problem" ? answer.code : answer.kind);

test(
  "one workspace's clients do not take all places for long answers",
  async () => {
    const [busy, other] = [await newWorkspace(), await newWorkspace()];
    // Longer than what a thread sends before the client reads on: a shorter answer gives its place back at once.
    const value = "v".repeat(200_000);
    for (const workspaceId of [busy, other])
      for (const key of ["k", "l"]) expect(outcome(await write(workspaceId, key, value))).toBe("json");
    const begin = async (workspaceId: string) => {
      const made = await ask(workspaceId, "checkpoint.create", { agentId: "a", label: null, metadata: {} });
      if (made.answer.kind !== "json") throw new Error(outcome(made));
      const { id: checkpointId } = JSON.parse(wholeText(made.answer.body));
      return ask(workspaceId, "checkpoint.read", { checkpointId });
    };
    const begun = [];
    for (let i = 0; i < 20; i++) begun.push(await begin(busy));
    expect(begun.filter(({ answer }) => answer.kind === "stream")).toHaveLength(16);
    expect(begun.slice(16).map(outcome)).toEqual(new Array(4).fill("unavailable"));
    expect((await begin(other)).answer.kind).toBe("stream");
    const first = begun[0]?.answer;
    if (first?.kind !== "stream") throw new Error("no stream");
    await first.body.cancel();
    expect((await begin(busy)).answer.kind).toBe("stream");
  },
  PROCESS_TEST_MS,
);

test(
  "more work than the queue holds is refused, and what was taken is done",
  async () => {
    const workspaceId = await newWorkspace();
    const asked = 6_000;
    const replies = await Promise.all(Array.from({ length: asked }, (_, i) => write(workspaceId, `k${i}`)));
    const taken = replies.filter(({ answer }) => answer.kind === "json").length;
    expect(taken).toBeGreaterThan(4_000);
    expect(taken).toBeLessThan(asked);
    for (const reply of replies.filter(({ answer }) => answer.kind !== "json")) {
      expect(reply).toMatchObject({ answer: { kind: "problem", code: "unavailable" }, auditId: null });
      expect(reply.result).toBeUndefined();
    }
    expect(pool.load).toEqual({ operations: 0, queries: 0, streams: 0, live: 0 });
    using seen = new OpenWorkspace(fileOf(workspaceId));
    expect(seen.connection.get<[number]>("SELECT count(*) FROM entries")?.[0]).toBe(taken);
    expect((await write(workspaceId, "after")).answer.kind).toBe("json");
  },
  PROCESS_TEST_MS,
);

test(
  "large values fill the queue sooner: it is bounded by size too",
  async () => {
    const workspaceId = await newWorkspace();
    const value = "x".repeat(1024 * 1024);
    const replies = await Promise.all(Array.from({ length: 120 }, (_, i) => write(workspaceId, `k${i}`, value)));
    const outcomes = new Set(replies.map(outcome));
    expect(outcomes).toEqual(new Set(["json", "unavailable"]));
    expect((await read(workspaceId, "k0")).answer.kind).toBe("json");
  },
  PROCESS_TEST_MS,
);

test(
  "a damaged file is unavailable, alone",
  async () => {
    const [good, ...damaged] = [
      await newWorkspace(),
      await newWorkspace(),
      await newWorkspace(),
      await newWorkspace(),
      await newWorkspace(),
    ] as [string, string, string, string, string];
    const [garbage, empty, missing, other] = damaged;
    writeFileSync(fileOf(garbage), GARBAGE);
    truncateSync(fileOf(empty), 0);
    rmSync(fileOf(missing));
    copyFileSync(fileOf(good), fileOf(other));
    for (const id of damaged) {
      expect({ which: damaged.indexOf(id), ...(await write(id, "k", "hunter2")) }).toMatchObject({
        answer: { kind: "problem", code: "unavailable" },
      });
      expect(outcome(await read(id, "k"))).toBe("unavailable");
      expect(outcome(await ask(id, "audit.verify", { scope: { agentId: "a" } }))).toBe("unavailable");
      expect(outcome(await ask(id, "audit.export", { scope: { agentId: "a" }, format: "json", window: {} }))).toBe(
        "unavailable",
      );
      expect((await write(good, "k")).answer.kind).toBe("json");
    }
    expect(existsSync(fileOf(missing))).toBe(false);
    expect(failures.length).toBeGreaterThan(0);
    expect(JSON.stringify(failures)).not.toContain("hunter2");
  },
  PROCESS_TEST_MS,
);

test("a file that is put back is used again", async () => {
  const workspaceId = await newWorkspace();
  copyFileSync(fileOf(workspaceId), `${fileOf(workspaceId)}.copy`);
  writeFileSync(fileOf(workspaceId), GARBAGE);
  expect(outcome(await write(workspaceId, "k"))).toBe("unavailable");
  expect(outcome(await ask(workspaceId, "audit.query", queryOf("a")))).toBe("unavailable");
  // Whole at once: the threads look at it every second.
  renameSync(`${fileOf(workspaceId)}.copy`, fileOf(workspaceId));
  expect(outcome(await write(workspaceId, "k"))).toBe("json");
  expect(outcome(await ask(workspaceId, "audit.query", queryOf("a")))).toBe("json");
});

const queryOf = (agentId: string) => ({ scope: { agentId }, window: {}, page: { limit: 10, offset: 0 } });

test("a stop finishes what was taken and refuses the rest", async () => {
  const workspaceId = await newWorkspace();
  const replies = Array.from({ length: 500 }, (_, i) => write(workspaceId, `k${i}`));
  const closing = pool.close();
  const late = await write(workspaceId, "late");
  expect(outcome(late)).toBe("unavailable");
  await closing;
  const outcomes = (await Promise.all(replies)).map(outcome);
  expect(new Set(outcomes)).toEqual(new Set(["json"]));
  using seen = new OpenWorkspace(fileOf(workspaceId));
  expect(seen.connection.get<[number]>("SELECT count(*) FROM entries")?.[0]).toBe(500);
});

test(
  "of many batches at once, every one is screened, whichever thread does it",
  async () => {
    const workspaces = [await newWorkspace(), await newWorkspace()];
    const policies = { block_pii: true, block_secrets: true };
    for (const id of workspaces) await ask(id, "config.update", { agentId: "a", config: { policies } });
    const texts = Array.from({ length: 40 }, (_, i) => (i % 7 === 3 ? "mail jane.doe@gmail.com" : `note ${i}`));
    const batch = async (workspaceId: string, at: number) => {
      const parts = texts.map((value, i) => ({
        name: "data.write" as const,
        input: { agentId: "a", key: `${at}/${i}`, value, metadata: {} },
      }));
      const { answer } = await ask(workspaceId, "data.batch", { agentId: "a", atomic: false, parts });
      if (answer.kind !== "json") throw new Error(answer.kind);
      return JSON.parse(wholeText(answer.body)).results.map(({ allowed }: { allowed: boolean }) => allowed);
    };
    // The first come before the tables of the screening thread exist, later ones after that.
    for (let round = 0; round < 3; round++) {
      const asked = Array.from({ length: 60 }, (_, i) => batch(workspaces[i % 2] as string, round * 100 + i));
      for (const allowed of await Promise.all(asked)) expect(allowed).toEqual(texts.map((_, i) => i % 7 !== 3));
    }
    expect(failures).toEqual([]);
  },
  PROCESS_TEST_MS,
);
