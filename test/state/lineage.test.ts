/** Lineage: the walk finds what a slow model finds, which is written from the sentences of docs/api.md. */
import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import { BLOCK, KeptBlocks } from "../../src/core/rows/lineage/blocks.ts";
import { type Walk, walkLineage } from "../../src/core/rows/lineage/walk.ts";
import { countPrunable, keptBy, PRUNE } from "../../src/core/rows/log/pruning.ts";
import { answered } from "../../src/core/writer/operation.ts";
import type { JsonObject } from "../../src/json.ts";
import type { OperationInputs, OperationName } from "../../src/operations.ts";
import { jobOf } from "../../src/serve/threads/registry.ts";
import { effort } from "../effort.ts";
import { PROCESS_TEST_MS } from "../patience.ts";
import { SEED } from "../seed.ts";
import { OpenWorkspace } from "../support/open-workspace.ts";
import { temporaryDirectory } from "../temporary.ts";

const MINUTE = 60_000;
const NOTHING_KEPT = new KeptBlocks(0);
const ACTORS = ["usr_01h455vb4pex5vsknk084sn02q", "usr_01h455vb4pex5vsknk084sn03r"] as const;
const AGENTS = ["one", "two"] as const;
const KEYS = ["a", "b", "c"] as const;

/** An event, as the log states it. */
interface Event {
  seq: number;
  actor: string;
  session: string | null;
  agentId: string | null;
  time: number;
  returned: number[];
  stored: boolean;
}

type EventRow = [
  seq: number,
  actor: string,
  agentId: string | null,
  time: number,
  stored: number,
  details: string | null,
];

/** Returns the events of which something is known. */
function eventsOf({ connection }: OpenWorkspace): Event[] {
  const rows = connection.all<EventRow>(
    `SELECT seq, actor, agent_id, time, operation = 'data.write' AND result = 'allowed', details FROM events
     WHERE details IS NOT NULL ORDER BY seq`,
  );
  return rows.map(([seq, actor, agentId, time, stored, text]) => {
    const details = JSON.parse(text as string) as JsonObject;
    return {
      ...{ seq, actor, time, stored: stored === 1, session: (details.session as string | undefined) ?? null },
      agentId: agentId ?? (details.agent_id as string | undefined) ?? null,
      returned: (details.returned as number[] | undefined) ?? [],
    };
  });
}

/** "A version is a cause of a write when the same actor was shown it earlier in the log …" */
function showed(read: Event, write: Event): boolean {
  if (!write.stored || read.actor !== write.actor || read.seq >= write.seq) return false;
  if (write.session !== null) return read.session === write.session;
  return Math.abs(read.time - write.time) <= 10 * MINUTE;
}

type Wanted = Pick<Walk, "direction" | "depth" | "kept"> & { agents?: readonly string[] | null };

/** The depth of every write that is connected with some writes, and for each the steps by which it may be reached: `from` and `through`. */
function modelOf(all: readonly Event[], from: readonly number[], { direction, depth, agents = null }: Wanted) {
  const events = all.filter(({ agentId }) => agents === null || (agentId !== null && agents.includes(agentId)));
  const found = new Map<number, { depth: number; steps: Set<string> }>();
  let frontier = [...from];
  for (let step = 1; step <= depth; step++) {
    const next = new Map<number, Set<string>>();
    for (const read of events) {
      for (const write of events) {
        if (read.returned.length === 0 || !showed(read, write)) continue;
        for (const cause of read.returned) {
          const [near, far] = direction === "effects" ? [cause, write.seq] : [write.seq, cause];
          if (!frontier.includes(near) || from.includes(far) || found.has(far)) continue;
          next.set(far, (next.get(far) ?? new Set()).add(`${near} ${read.seq}`));
        }
      }
    }
    for (const [seq, steps] of next) found.set(seq, { depth: step, steps });
    frontier = [...next.keys()];
  }
  return found;
}

const walk = (workspace: OpenWorkspace, from: readonly number[], wanted: Wanted & Partial<Walk>) =>
  walkLineage(workspace.connection, from, { limit: 1_000_000, pause: async () => {}, ...wanted });

/** Compares the walk with the model: the same writes in their order, each by a step that fits. */
async function expectSame(workspace: OpenWorkspace, events: readonly Event[], from: readonly number[], wanted: Wanted) {
  const model = modelOf(events, from, wanted);
  const items = await walk(workspace, from, wanted);
  const inOrder = [...model].map(([seq, { depth }]) => ({ depth, seq }));
  inOrder.sort((one, other) => one.depth - other.depth || one.seq - other.seq);
  expect(items.map(({ depth, seq }) => ({ depth, seq }))).toEqual(inOrder);
  for (const { seq, from, through } of items) expect(model.get(seq)?.steps.has(`${from} ${through}`)).toBe(true);
  return items;
}

interface Acting {
  actor?: string;
  session?: string | null;
}

/** Returns a job of an actor, in a session or in none. */
function job<N extends OperationName>(
  workspace: OpenWorkspace,
  name: N,
  input: OperationInputs[N],
  { actor = ACTORS[0], session = null }: Acting = {},
) {
  const principal = { ...workspace.principal, actor };
  return jobOf<N>({ name, input, principal, ...(session !== null && { via: { session } }) });
}

async function act<N extends OperationName>(
  workspace: OpenWorkspace,
  name: N,
  input: OperationInputs[N],
  acting: Acting = {},
): Promise<number> {
  const [reply] = await workspace.writer.perform([job(workspace, name, input, acting) as never]);
  expect(reply?.auditId).toEqual(expect.any(String));
  return workspace.writer.headSeq;
}

const write = (workspace: OpenWorkspace, agentId: string, key: string, acting: Acting = {}) =>
  act(workspace, "data.write", { agentId, key, value: "v", metadata: {} }, acting);
const read = (workspace: OpenWorkspace, agentId: string, key: string, acting: Acting = {}) =>
  act(workspace, "data.read", { agentId, key }, acting);

/** Appends events that say nothing about lineage. */
async function fill(workspace: OpenWorkspace, count: number): Promise<void> {
  const jobs = Array.from({ length: count }, () => job(workspace, "agent.read", { agentId: AGENTS[0] }));
  await workspace.writer.perform(jobs as never);
}

const acting = fc.record({ actor: fc.constantFrom(...ACTORS), session: fc.constantFrom(null, null, "s1", "s2") });
const place = { agentId: fc.constantFrom(...AGENTS), key: fc.constantFrom(...KEYS) };
const step = fc.oneof(
  { weight: 14, arbitrary: fc.record({ kind: fc.constant("write" as const), ...place, acting }) },
  { weight: 20, arbitrary: fc.record({ kind: fc.constant("read" as const), ...place, acting }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("batch" as const), ...place, acting }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("clock" as const),
      ms: fc.constantFrom(-20, -10, -1, 1, 5, 10, 11).map((n) => n * MINUTE),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("clock" as const), ms: fc.integer({ min: -MINUTE, max: MINUTE }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("others" as const), count: fc.integer({ min: 1, max: BLOCK + 1 }) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("erase" as const), ...place }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("ask" as const) }) },
);

type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

async function take(workspace: OpenWorkspace, time: { ms: number }, one: Step): Promise<void> {
  if (one.kind === "write") await write(workspace, one.agentId, one.key, one.acting);
  else if (one.kind === "read") await read(workspace, one.agentId, one.key, one.acting);
  else if (one.kind === "clock") time.ms += one.ms;
  else if (one.kind === "others") await fill(workspace, one.count);
  else if (one.kind === "erase") await act(workspace, "data.erase", { agentId: one.agentId, key: one.key });
  else if (one.kind === "batch") {
    const { agentId, key, acting } = one;
    const reads = KEYS.map((each) => ({ name: "data.read" as const, input: { agentId, key: each } }));
    const put = { name: "data.write" as const, input: { agentId, key, value: "b", metadata: {} } };
    await act(workspace, "data.batch", { agentId, atomic: false, parts: [...reads, put] }, acting);
  } else await expectSame(workspace, eventsOf(workspace), [1], { direction: "effects", depth: 5 });
}

test(
  "whatever is read and written, whoever does it, in whatever session and whenever",
  async () => {
    using directory = temporaryDirectory();
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 70, size: "max" }), async (steps) => {
        const time = { ms: Date.UTC(2026, 10, 30) };
        using workspace = await OpenWorkspace.make(directory.path, () => time.ms);
        await write(workspace, "one", "a");
        for (const one of steps) await take(workspace, time, one);
        const events = eventsOf(workspace);
        const writes = events.filter(({ stored }) => stored).map(({ seq }) => seq);
        for (const direction of ["causes", "effects"] as const) {
          for (const [depth, kept] of [[1], [2, NOTHING_KEPT], [5]] as const) {
            for (const from of [writes.slice(0, 1), writes.slice(-1), writes.slice(2, 5)].filter(
              (list) => list.length > 0,
            )) {
              await expectSame(workspace, events, from, { direction, depth, ...(kept && { kept }) });
              await expectSame(workspace, events, from, { direction, depth, agents: ["two"] });
            }
          }
        }
      }),
      { numRuns: effort({ usual: 25, long: 600 }), seed: SEED },
    );
  },
  PROCESS_TEST_MS,
);

/** A workspace whose clock the test sets. */
async function workspaceIn(directory: string) {
  const time = { ms: Date.UTC(2026, 10, 30) };
  return { time, workspace: await OpenWorkspace.make(directory, () => time.ms) };
}

const seqsOf = (items: readonly { seq: number }[]): number[] => items.map(({ seq }) => seq);

test("five steps are followed, each from the one before, and pages are parts of the whole", async () => {
  using directory = temporaryDirectory();
  using workspace = (await workspaceIn(directory.path)).workspace;
  const [reads, writes]: number[][] = [[], [await write(workspace, "one", "k0", { session: "s0" })]];
  for (let step = 1; step <= 7; step++) {
    const session = `s${step}`;
    reads?.push(await read(workspace, "one", `k${step - 1}`, { session }));
    await fill(workspace, 200);
    writes?.push(await write(workspace, "one", `k${step}`, { session }));
  }
  const [start, end] = [writes?.[0] as number, writes?.[7] as number];
  const effects = await walk(workspace, [start], { direction: "effects", depth: 5 });
  expect(effects).toEqual(
    [1, 2, 3, 4, 5].map((depth) => ({
      ...{ seq: writes?.[depth], from: writes?.[depth - 1], through: reads?.[depth - 1], depth },
    })) as never,
  );
  const causes = await walk(workspace, [end], { direction: "causes", depth: 3 });
  expect(causes).toEqual(
    [1, 2, 3].map((depth) => ({
      ...{ seq: writes?.[7 - depth], from: writes?.[8 - depth], through: reads?.[7 - depth], depth },
    })) as never,
  );
  for (const limit of [1, 2, 3, 5]) {
    const paged: unknown[] = [];
    for (let after: (typeof effects)[number] | undefined; ; after = effects[paged.length - 1]) {
      const page = await walk(workspace, [start], { direction: "effects", depth: 5, limit, ...(after && { after }) });
      if (page.length === 0) break;
      expect(page.length).toBeLessThanOrEqual(limit);
      paged.push(...page);
    }
    expect(paged).toEqual(effects);
  }
});

test("ten minutes are enough, and a millisecond more is too much, whichever way the clock was set", async () => {
  for (const [ms, counts] of [
    [10 * MINUTE, true],
    [10 * MINUTE + 1, false],
    [-10 * MINUTE, true],
    [-10 * MINUTE - 1, false],
    [0, true],
  ] as const) {
    for (const beganMs of [0, 1, 10 * MINUTE - 1]) {
      using directory = temporaryDirectory();
      const { time, workspace } = await workspaceIn(directory.path);
      using _ = workspace;
      time.ms += beganMs;
      const note = await write(workspace, "one", "a", { session: "own" });
      await read(workspace, "one", "a");
      time.ms += ms;
      const late = await write(workspace, "one", "b");
      const connected = counts ? [[late], [note]] : [[], []];
      const effects = await walk(workspace, [note], { direction: "effects", depth: 1 });
      const causes = await walk(workspace, [late], { direction: "causes", depth: 1 });
      expect([seqsOf(effects), seqsOf(causes)]).toEqual(connected as number[][]);
    }
  }
});

test("what was erased is not followed any more, though the part of the log was kept in memory", async () => {
  using directory = temporaryDirectory();
  using workspace = (await workspaceIn(directory.path)).workspace;
  const kept = new KeptBlocks(1_000_000);
  const note = await write(workspace, "one", "note", { session: "s" });
  await read(workspace, "one", "note", { session: "s" });
  const summary = await write(workspace, "one", "summary", { session: "s" });
  await fill(workspace, BLOCK);
  const asked = { direction: "effects", depth: 1, kept } as const;
  expect(seqsOf(await walk(workspace, [note], asked))).toEqual([summary]);
  const { bytes } = kept;
  expect(bytes).toBeGreaterThan(0);
  await act(workspace, "data.erase", { agentId: "one", key: "other" });
  expect(seqsOf(await walk(workspace, [note], asked))).toEqual([summary]);
  await act(workspace, "data.erase", { agentId: "one", key: "summary" });
  expect(await walk(workspace, [note], asked)).toEqual([]);
  // The part is kept again, without what is gone.
  expect(kept.bytes).toBeGreaterThan(0);
  expect(kept.bytes).toBeLessThan(bytes);
});

test("what was pruned is not followed any more", async () => {
  using directory = temporaryDirectory();
  using workspace = (await workspaceIn(directory.path)).workspace;
  const note = await write(workspace, "one", "note", { session: "s" });
  await read(workspace, "one", "note", { session: "s" });
  const summary = await write(workspace, "one", "summary", { session: "s" });
  await fill(workspace, 2 * BLOCK);
  expect(seqsOf(await walk(workspace, [summary], { direction: "causes", depth: 1 }))).toEqual([note]);
  await prune(workspace, BLOCK);
  expect(await walk(workspace, [summary], { direction: "causes", depth: 1 })).toEqual([]);
});

/** Drops the events before a position, as `governd prune` does once they are exported. */
async function prune(workspace: OpenWorkspace, beforeSeq: number): Promise<void> {
  const [reply] = await workspace.writer.perform([
    {
      operation: PRUNE,
      principal: { ...workspace.principal, actor: "cli" },
      async run(reader, context) {
        const events = await countPrunable(reader, beforeSeq);
        const kept = await keptBy(reader, beforeSeq, () => context.pause());
        const stated = { before_seq: beforeSeq, before_time: context.timestamp, events, kept };
        const details = { ...stated, export_digest: "0".repeat(64) };
        return answered(null, details, "{}", { effect: { kind: "prune", beforeSeq, events } });
      },
    },
  ]);
  expect(reply?.result).toBe("ok");
}

test("a file that was set back is read again, and so is what another log has at the same positions", async () => {
  using directory = temporaryDirectory();
  const kept = new KeptBlocks(1_000_000);
  const { workspace: first } = await workspaceIn(directory.path);
  const note = await write(first, "one", "note", { session: "s" });
  const { path } = first;
  first[Symbol.dispose]();
  const before = readFileSync(path);
  const asked = { direction: "effects", depth: 1, kept } as const;
  for (const [agentId, isRead] of [
    ["one", true],
    ["two", false],
    ["two", true],
  ] as const) {
    writeFileSync(path, before);
    using workspace = new OpenWorkspace(path);
    if (isRead) await read(workspace, "one", "note", { session: "s" });
    else await read(workspace, "one", "nothing", { session: "s" });
    const later = await write(workspace, agentId, "later", { session: "s" });
    await fill(workspace, BLOCK);
    expect(seqsOf(await walk(workspace, [note], asked))).toEqual(isRead ? [later] : []);
    expect(seqsOf(await walk(workspace, [note], asked))).toEqual(isRead ? [later] : []);
  }
});

test("no more memory is used than is allowed, and what does not fit is read again", async () => {
  using directory = temporaryDirectory();
  const opened = [];
  for (let at = 0; at < 3; at++) opened.push((await workspaceIn(directory.path)).workspace);
  const asked = { direction: "effects", depth: 5 } as const;
  const notes: number[] = [];
  for (const workspace of opened) {
    notes.push(await write(workspace, "one", "note"));
    for (let part = 0; part < 3; part++) {
      await read(workspace, "one", "note");
      await write(workspace, "one", `part/${part}`);
      await fill(workspace, BLOCK);
    }
  }
  const whole = await walk(opened[0] as OpenWorkspace, notes.slice(0, 1), { ...asked, kept: NOTHING_KEPT });
  expect(whole.length).toBe(3);
  expect(NOTHING_KEPT.bytes).toBe(0);
  const one = new KeptBlocks(1_000_000);
  await walk(opened[0] as OpenWorkspace, notes.slice(0, 1), { ...asked, kept: one });
  for (const mostBytes of [one.bytes - 1, one.bytes, 2 * one.bytes, 3 * one.bytes]) {
    const kept = new KeptBlocks(mostBytes);
    for (let round = 0; round < 2; round++) {
      for (const [at, workspace] of opened.entries()) {
        const found = await walk(workspace, [notes[at] as number], { ...asked, kept });
        expect(found.map(({ depth }) => depth)).toEqual([1, 1, 1]);
        expect(kept.bytes).toBeLessThanOrEqual(mostBytes);
        expect(kept.bytes).toBeGreaterThan(0);
      }
    }
  }
  for (const workspace of opened) workspace[Symbol.dispose]();
});
