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

beforeEach(() => {
  nowMs = 0;
  served = [];
  inUse = new Set();
  groups = {};
  batches = new BatchQueue(() => 0);
  turns = new Turns(batches, {
    monotonicMs: () => nowMs,
    isInUse: (id) => inUse.has(id),
    post: () => {},
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
