/** Workspaces that share a thread: what one of them does for long does not keep the others waiting. */

import { afterEach, beforeEach, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { constants, getPriority } from "node:os";
import { newSealKey, readSealKey } from "../../src/core/datadir/seal-key.ts";
import { wholeText } from "../../src/core/long-text.ts";
import type { Bytes, Reply } from "../../src/core/writer/contract.ts";
import { systemClock } from "../../src/ids.ts";
import type { OperationInputs, OperationName } from "../../src/operations.ts";
import { AMPLE } from "../../src/serve/threads/descriptors.ts";
import { WorkspacePool } from "../../src/serve/threads/pool.ts";
import { BEHIND } from "../../src/thread-priority.ts";
import { effort } from "../effort.ts";
import { eventually } from "../eventually.ts";
import { PROCESS_TEST_MS } from "../patience.ts";
import { anybody, makeWorkspace } from "../support/open-workspace.ts";
import { poolOptions } from "../support/pool-options.ts";
import { type TemporaryDirectory, temporaryDirectory } from "../temporary.ts";

const SEAL_KEY = { kind: "pem", pem: newSealKey() } as const;
const POLICIES = { policies: { block_pii: true, block_secrets: true } };

let directory: TemporaryDirectory;
let pool: WorkspacePool;
let busy: string;
let neighbour: string;

const openPool = async (stated: Parameters<typeof poolOptions>[2]) => {
  pool = new WorkspacePool(poolOptions(directory.path, SEAL_KEY, { threads: 1, ...stated }));
  await pool.ready();
};

const make = () => makeWorkspace(directory.path, systemClock, readSealKey(SEAL_KEY).publicBytes);

beforeEach(async () => {
  directory = temporaryDirectory();
  await openPool({ onFailure: () => {} });
  [busy, neighbour] = [await make(), await make()];
  await ask(busy, "config.update", { agentId: "a", config: POLICIES });
  await write(neighbour, "first", "v");
});
afterEach(async () => {
  await pool.close();
  directory[Symbol.dispose]();
});

const ask = <N extends OperationName>(workspaceId: string, name: N, input: OperationInputs[N]): Promise<Reply<Bytes>> =>
  pool.perform({ name, input, principal: anybody(workspaceId) });
const write = (workspaceId: string, key: string, value: string) =>
  ask(workspaceId, "data.write", { agentId: "a", key, value, metadata: {} });

async function bodyOf(reply: Promise<Reply<Bytes>>): Promise<Record<string, unknown>> {
  const { answer } = await reply;
  if (answer.kind !== "json") throw new Error(`the answer is ${JSON.stringify(answer)}`);
  return JSON.parse(wholeText(answer.body));
}

/** Returns the names of the newest operations of the busy agent, the newest first. */
async function newestOperations(limit: number): Promise<string[]> {
  const query = { scope: { agentId: "a" }, window: {}, filters: {}, page: { limit, offset: 0 } };
  const { data } = await bodyOf(ask(busy, "audit.query", query as never));
  return (data as { operation: string }[]).map(({ operation }) => operation);
}

/** Writes of the neighbour that are done, one after another, before `long` is. */
async function writesDuring(long: Promise<unknown>): Promise<number> {
  let isDone = false;
  const end = long.finally(() => {
    isDone = true;
  });
  let writes = 0;
  for (; !isDone; writes++) expect((await write(neighbour, `k${writes}`, "A note.")).result).toBe("allowed");
  await end;
  // The last one may have been done after it.
  return writes - 1;
}

/** How often a count is tried: a disk that is busy for other tests holds everybody for so long now and then. */
const MOST_TRIES = 3;

/** Expects that the neighbour writes more than `least` times during what `begin` begins. */
async function expectWrites(least: number, begin: () => Promise<unknown>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const writes = await writesDuring(begin());
    if (attempt === MOST_TRIES) expect(writes).toBeGreaterThan(least);
    if (writes > least) return;
  }
}

/** The threads of this process whose priority is so many steps below its own, by their ids. */
function threadsBehind(steps: number): Set<string> {
  const priority = Math.min(constants.priority.PRIORITY_LOW, getPriority(process.pid) + steps);
  const stats = readdirSync("/proc/self/task").map((id) => [id, statOf(`/proc/self/task/${id}/stat`)] as const);
  // The fields after the name: the 17th is the nice value.
  return new Set(stats.filter(([, stat]) => Number(stat.split(" ")[16]) === priority).map(([id]) => id));
}

function statOf(path: string): string {
  try {
    const stat = readFileSync(path, "latin1");
    return stat.slice(stat.lastIndexOf(")") + 2);
  } catch {
    return ""; // the thread has ended
  }
}

test.skipIf(process.platform !== "linux")("threads that read and screen let the others go before them", async () => {
  const [readers, screening] = [threadsBehind(BEHIND.reading), threadsBehind(BEHIND.screening)];
  const query = { scope: { agentId: "a" }, window: {}, filters: {}, page: { limit: 1, offset: 0 } };
  await bodyOf(ask(busy, "audit.query", query as never));
  expect(threadsBehind(BEHIND.reading).difference(readers).size).toBeGreaterThan(0);
  await write(busy, "large", "A note. ".repeat(2_000));
  expect(threadsBehind(BEHIND.screening).difference(screening).size).toBeGreaterThan(0);
});

test(
  "texts that are costly to screen",
  async () => {
    const costly = "Authorization: Basic ".repeat(10_000);
    const all = async () => {
      const written = await Promise.all(Array.from({ length: 3 }, (_, i) => write(busy, `large${i}`, costly)));
      for (const reply of written) expect(reply.result).toBe("blocked"); // it costs too much
    };
    await expectWrites(10, all);
  },
  PROCESS_TEST_MS,
);

test(
  "a restore of much under policies, and a list of it",
  async () => {
    const value = "A note about the harbour, and the people who meet there. ".repeat(100);
    await Promise.all(Array.from({ length: 1_500 }, (_, i) => write(busy, `entry${i}`, value)));
    const checkpoint = await bodyOf(ask(busy, "checkpoint.create", { agentId: "a", label: null, metadata: {} }));
    const emptied = await bodyOf(ask(busy, "data.delete_prefix", { agentId: "a", prefix: "entry" }));
    expect(emptied).toMatchObject({ deleted: 1_500 });
    const restore = { checkpointId: String(checkpoint.id), restoreConfig: true, restoreData: true };
    const restored = bodyOf(ask(busy, "checkpoint.restore", restore));
    expect(await writesDuring(restored)).toBeGreaterThan(10);
    expect(await restored).toMatchObject({ entries_restored: 1_500 });
    const page = { limit: 1_000, offset: 0 };
    await expectWrites(1, async () => {
      const list = await bodyOf(ask(busy, "data.list", { agentId: "a", prefix: "", includeValues: true, page }));
      expect((list.data as unknown[]).length).toBe(1_000);
    });
  },
  PROCESS_TEST_MS,
);

const removeLarge = () => ask(busy, "data.delete_prefix", { agentId: "a", prefix: "large" });

/** Writes large values, makes a checkpoint of them and deletes them. Returns the input of its restore. */
async function removedLargeValues(value: string, count: number) {
  await Promise.all(Array.from({ length: count }, (_, i) => write(busy, `large${i}`, value)));
  const { id } = await bodyOf(ask(busy, "checkpoint.create", { agentId: "a", label: null, metadata: {} }));
  await removeLarge();
  return { checkpointId: String(id), restoreConfig: false, restoreData: true };
}

test(
  "a restore of large texts, which are screened elsewhere",
  async () => {
    const restore = await removedLargeValues("12 Abc ".repeat(140_000), 10);
    const restored = async () => {
      await removeLarge();
      expect(await bodyOf(ask(busy, "checkpoint.restore", restore))).toMatchObject({ entries_restored: 10 });
    };
    await expectWrites(500, restored);
  },
  PROCESS_TEST_MS,
);

test(
  "large texts are restored under the policies that are in force when they are",
  async () => {
    await ask(busy, "config.update", { agentId: "a", config: { policies: {} } });
    const restore = await removedLargeValues(`${"A note. ".repeat(2_000)} my card is 4111 1111 1111 1111`, 3);
    // The screening and the change of the policies overtake each other.
    for (let i = 0; i < effort({ usual: 4, long: 20 }); i++) {
      const policies = i % 2 === 0 ? POLICIES.policies : {};
      const [, { result }] = await Promise.all([
        ask(busy, "config.update", { agentId: "a", config: { policies } }),
        ask(busy, "checkpoint.restore", restore),
      ]);
      const [newest] = await newestOperations(2);
      const isBlocked = newest === "checkpoint.restore" ? i % 2 === 0 : i % 2 === 1;
      expect([i, result]).toEqual([i, isBlocked ? "blocked" : "ok"]);
      await removeLarge();
    }
  },
  PROCESS_TEST_MS,
);

/** Both find what they look for at nearly every character, and look far for it. */
const COSTLY_PATTERNS = ["[a-z ]{1,300}X", "a.{300}"].map((regex, i) => ({
  name: `costly_${i}`,
  regex,
  mode: "audit",
}));

test(
  "texts that patterns of the operator take long for",
  async () => {
    const policies = { screening: { patterns: COSTLY_PATTERNS } };
    await ask(busy, "config.update", { agentId: "a", config: { policies } as never });
    const value = `${"a".repeat(299)}X`.repeat(20);
    const { id } = await bodyOf(ask(busy, "checkpoint.create", { agentId: "a", label: null, metadata: {} }));
    const kept = { checkpointId: String(id), restoreConfig: false, restoreData: true };
    const part = (i: number) => ({
      name: "data.write" as const,
      input: { agentId: "a", key: `part${i}`, value, metadata: {} },
    });
    const all = async () => {
      await Promise.all(Array.from({ length: 3 }, (_, i) => write(busy, `costly${i}`, value)));
      await ask(busy, "data.batch", { agentId: "a", atomic: true, parts: [part(0), part(1)] });
      const metadata = { note: value };
      const made = await bodyOf(ask(busy, "checkpoint.create", { agentId: "a", label: "all", metadata }));
      await ask(busy, "checkpoint.restore", kept);
      const restored = await ask(busy, "checkpoint.restore", { ...kept, checkpointId: String(made.id) });
      expect(restored.result).toBe("ok");
      const check = { agentId: "a", key: "k", value, metadata: {}, policies: null };
      expect(await bodyOf(ask(busy, "policy.check", check))).toMatchObject({ allowed: true });
      expect((await ask(busy, "agent.suspend", { agentId: "a", reason: value.slice(0, 500) })).result).toBe("ok");
      expect((await ask(busy, "agent.resume", { agentId: "a", reason: null })).result).toBe("ok");
    };
    await expectWrites(500, all);
    const page = { limit: 20, offset: 0 };
    const query = { scope: { agentId: "a" }, window: {}, filters: {}, operations: ["data.write"], page };
    const { data } = await bodyOf(ask(busy, "audit.query", query as never));
    for (const { details } of data as { details: { findings?: unknown[] } }[])
      expect(details.findings?.length).toBeGreaterThan(0);
  },
  PROCESS_TEST_MS,
);

test(
  "a batch of a thousand",
  async () => {
    const value = "A note about the harbour, and the people who meet there. ".repeat(20);
    const parts = (from: number) =>
      Array.from({ length: 1_000 }, (_, i) => {
        const input = { agentId: "a", key: `entry${from + i}`, value, metadata: {} };
        return { name: "data.write" as const, input };
      });
    const batch = async (from: number) => {
      const { applied } = await bodyOf(ask(busy, "data.batch", { agentId: "a", atomic: true, parts: parts(from) }));
      expect(applied).toBe(true);
    };
    await expectWrites(10, () => Promise.all([batch(0), batch(1_000)]));
  },
  PROCESS_TEST_MS,
);

test(
  "large texts of a batch are screened one by one, elsewhere",
  async () => {
    const [large, small] = ["A note. ".repeat(2_000), "A note."];
    const card = " my card is 4111 1111 1111 1111";
    const values = [large, small, `${large}${card}`, `${small}${card}`, large];
    const parts = values.map((value, i) => ({
      name: "data.write" as const,
      input: { agentId: "a", key: `k${i}`, value, metadata: {} },
    }));
    const { results } = await bodyOf(ask(busy, "data.batch", { agentId: "a", atomic: false, parts }));
    const allowed = (results as { allowed: boolean }[]).map((one) => one.allowed);
    expect(allowed).toEqual([true, true, false, false, true]);
  },
  PROCESS_TEST_MS,
);

test(
  "a large text is screened under the policies that are in force when it is stored",
  async () => {
    const secret = `${"A note. ".repeat(2_000)} my card is 4111 1111 1111 1111`;
    expect((await write(busy, "card", secret)).result).toBe("blocked");
    expect((await write(neighbour, "card", secret)).result).toBe("allowed");
    // The screening and the change of the policies overtake each other.
    for (let i = 0; i < effort({ usual: 4, long: 20 }); i++) {
      const policies = i % 2 === 0 ? {} : POLICIES.policies;
      const [, reply] = await Promise.all([
        ask(busy, "config.update", { agentId: "a", config: { policies } }),
        write(busy, `card${i}`, secret),
      ]);
      const isAfter = (await newestOperations(2))[0] === "data.write";
      const inForce = isAfter ? i % 2 === 1 : i % 2 === 0;
      expect([i, reply.result]).toEqual([i, inForce ? "blocked" : "allowed"]);
    }
  },
  PROCESS_TEST_MS,
);

test(
  "many workspaces that are all due to be sealed, and to be swept",
  async () => {
    await pool.close();
    const failures: string[] = [];
    const sealed = new Set<string>();
    await openPool({
      sealIntervalMs: 3_000,
      open: { ...AMPLE, writers: 8 }, // so that each is opened again
      onSealed: (workspaceId) => void sealed.add(workspaceId),
      onFailure: ({ where, name }) => void failures.push(`${where}: ${name}`),
    });
    const many: string[] = [];
    for (let i = 0; i < effort({ usual: 30, long: 1_000 }); i++) many.push(await make());
    await Promise.all(many.map((id) => write(id, "k", "v")));
    // Those that the neighbour's writes make wait for another interval.
    const seals = eventually("everything is sealed", () => many.every((id) => sealed.has(id)));
    await eventually("sealing has begun", () => many.some((id) => sealed.has(id)));
    expect(await writesDuring(seals)).toBeGreaterThan(many.length / 4);

    const last = many.at(-1) as string;
    await ask(last, "config.update", { agentId: "a", config: { policies: { retention_days: 1 } } });
    const value = "A note about the harbour, and the people who meet there. ".repeat(20);
    await Promise.all(Array.from({ length: 1_500 }, (_, i) => write(last, `entry${i}`, value)));
    await pool.close();
    await openPool({
      clockOffsetMs: 3 * 86_400_000,
      onFailure: ({ where, name }) => void failures.push(`${where}: ${name}`),
    });
    pool.sweep(many);
    const query = { scope: { agentId: "a" }, window: {}, operations: ["data.expire"], page: { limit: 1, offset: 0 } };
    const hasExpired = async () => {
      const { data } = await bodyOf(ask(last, "audit.query", query as never));
      return (data as unknown[]).length > 0;
    };
    const swept = (async () => {
      for (let i = 0; i < 1_000 && !(await hasExpired()); i++) await Bun.sleep(5);
    })();
    expect(await writesDuring(swept)).toBeGreaterThan(many.length / 4);
    expect(await hasExpired()).toBe(true);
    expect(failures).toEqual([]);
  },
  PROCESS_TEST_MS,
);
