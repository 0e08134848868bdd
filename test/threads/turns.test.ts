/** Whose group is served in the middle of whose. */
import { beforeEach, expect, test } from "bun:test";
import { BatchQueue } from "../../src/serve/threads/turns/batch-queue.ts";
import { Turns } from "../../src/serve/threads/turns/turns.ts";
import { nextTurn } from "../../src/timer.ts";

interface Asked {
  workspaceId: string;
  id: number;
}

let nowMs = 0;
let served: string[];
let inUse: Set<string>;
let batches: BatchQueue<Asked>;
let turns: Turns<Asked>;
/** What a group does, by workspace. */
let groups: Record<string, () => Promise<void>>;
/** How many operations of each workspace were prepared before their group. Preparing one takes `preparingMs`. */
let prepared: Map<string, number>;
let preparingMs: number;

beforeEach(() => {
  nowMs = 0;
  served = [];
  inUse = new Set();
  groups = {};
  prepared = new Map();
  preparingMs = 0;
  batches = new BatchQueue(() => 0);
  turns = new Turns(batches, {
    monotonicMs: () => nowMs,
    isInUse: (id) => inUse.has(id),
    post: () => {},
    prepare: (id, operations, isOver) => {
      for (let count = prepared.get(id) ?? 0; count < operations.length; ) {
        prepared.set(id, ++count);
        nowMs += preparingMs;
        if (isOver()) return true;
      }
      return false;
    },
    perform: async (id) => {
      inUse.add(id);
      served.push(`${id} begins`);
      await groups[id]?.();
      served.push(`${id} ends`);
      inUse.delete(id);
      return [];
    },
  });
});

function arrive(workspaceId: string): void {
  batches.add([{ workspaceId, id: 1 }], 1);
  turns.arrived();
}

async function serve(workspaceId: string): Promise<void> {
  arrive(workspaceId);
  const next = batches.take((id) => id === workspaceId);
  await turns.serve(workspaceId, next?.group ?? []);
}

const takes = (ms: number) => async () => {
  nowMs += ms;
};

test("what takes long gives way to what does not, and not the other way round", async () => {
  groups = { long: takes(200), short: takes(1) };
  for (const id of ["long", "short"]) await serve(id);
  served.length = 0;
  groups.long = async () => {
    nowMs += 5;
    arrive("short");
    await turns.giveWay("long");
    nowMs += 195;
  };
  await serve("long");
  expect(served).toEqual(["long begins", "short begins", "short ends", "long ends"]);
  served.length = 0;
  groups = { ...groups, long: takes(200) };
  groups.short = async () => {
    // Its thread was kept from the processor for a while.
    nowMs += 6;
    arrive("long");
    await turns.giveWay("short");
  };
  await serve("short");
  expect(served).toEqual(["short begins", "short ends"]);
  await turns.giveWay();
  expect(served.slice(2)).toEqual(["long begins", "long ends"]);
});

test("while a group waits for what is done beside the thread, what arrives is served", async () => {
  const work = Promise.withResolvers<void>();
  groups.waiting = () => turns.serveDuring("waiting", work.promise);
  const serving = serve("waiting");
  for (const id of ["a", "b"]) {
    await nextTurn();
    arrive(id);
    arrive("waiting");
  }
  await nextTurn();
  await nextTurn();
  expect(served).toEqual(["waiting begins", "a begins", "a ends", "b begins", "b ends"]);
  work.reject(new Error("it failed"));
  await serving;
  expect(served.at(-1)).toBe("waiting ends");
  // It has its next group when this one has ended.
  expect(batches.take()?.workspaceId).toBe("waiting");
});

test("while a group waits, its next group is prepared, a little in each turn, after others were served", async () => {
  preparingMs = 100;
  const work = Promise.withResolvers<void>();
  groups.waiting = () => turns.serveDuring("waiting", work.promise);
  groups.other = async () => {
    served.push(`${prepared.get("waiting") ?? 0} prepared`);
  };
  const serving = serve("waiting");
  for (const id of ["waiting", "waiting", "waiting", "other"]) arrive(id);
  for (let turn = 0; turn < 10; turn++) await nextTurn();
  expect(served.slice(1)).toEqual(["other begins", "1 prepared", "other ends"]);
  expect(prepared).toEqual(new Map([["waiting", 3]]));
  arrive("waiting");
  await nextTurn();
  arrive("other");
  await nextTurn();
  expect(served.slice(4)).toEqual(["other begins", "4 prepared", "other ends"]);
  work.resolve();
  await serving;
});

test("an arrival wakes every group that waits", async () => {
  const work = Promise.withResolvers<void>();
  for (const id of ["a", "b"]) groups[id] = () => turns.serveDuring(id, work.promise);
  const serving = [serve("a"), serve("b")];
  await nextTurn();
  batches.add([{ workspaceId: "a", id: 2 }], 3);
  batches.add([{ workspaceId: "b", id: 3 }], 3);
  turns.arrived();
  for (let turn = 0; turn < 4; turn++) await nextTurn();
  expect(prepared).toEqual(
    new Map([
      ["a", 1],
      ["b", 1],
    ]),
  );
  work.resolve();
  await Promise.all(serving);
});
