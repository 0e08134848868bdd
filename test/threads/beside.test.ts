/** Batches of several workspaces beside one another. */
import { expect, test } from "bun:test";
import { BesideOneAnother } from "../../src/engine-libsql/threads/copies.ts";
import { BatchQueue } from "../../src/serve/threads/turns/batch-queue.ts";

interface Waiting {
  workspaceId: string;
  name: string;
}

/** Begins batches that end when the test says so, and notes them. */
function beside(onBegin: (workspaceId: string) => void = () => {}) {
  const queue = new BatchQueue<Waiting>(() => 1);
  const begun: string[][] = [];
  const ends = new Map<string, () => void>();
  const failures: unknown[] = [];
  const running = new BesideOneAnother<Waiting>(
    queue,
    (workspaceId, group) => {
      begun.push(group.map(({ name }) => name));
      onBegin(workspaceId);
      return new Promise((resolve) => ends.set(workspaceId, resolve));
    },
    (error) => failures.push(error),
  );
  const arrive = (...names: string[]) => {
    queue.add(
      names.map((name) => ({ workspaceId: name[0] as string, name })),
      100,
    );
    running.begin();
  };
  return {
    begun,
    failures,
    arrive,
    end: (workspaceId: string) => ends.get(workspaceId)?.(),
    ended: () => running.ended(),
  };
}

const turns = async (count: number) => {
  for (let turn = 0; turn < count; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
};

test("what arrives while the batch of another workspace begins joins a batch that waits", async () => {
  const { begun, arrive } = beside((workspaceId) => {
    if (workspaceId === "a") arrive("b2");
  });
  arrive("a1", "b1");
  await turns(5);
  expect(begun).toEqual([["a1"], ["b1", "b2"]]);
});

test("batches of different workspaces run beside one another, those of one after another", async () => {
  const { begun, failures, arrive, end, ended } = beside();
  arrive("a1", "b1");
  await turns(5);
  arrive("a2", "c1");
  await turns(5);
  arrive("a3");
  await turns(5);
  expect(begun).toEqual([["a1"], ["b1"], ["c1"]]);
  end("a");
  await turns(5);
  expect(begun.at(-1)).toEqual(["a2", "a3"]);
  for (const workspaceId of ["a", "b", "c"]) end(workspaceId);
  await ended();
  expect(failures).toEqual([]);
});
