/** What shares a transaction: the order, the sizes and the fairness of groups. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { BatchQueue } from "../../src/serve/threads/turns/batch-queue.ts";

interface Asked {
  workspaceId: string;
  id: number;
}
const asked = (workspaceId: string, first: number, count: number): Asked[] =>
  Array.from({ length: count }, (_, i) => ({ workspaceId, id: first + i }));

function sizes(gathered: BatchQueue<Asked>): number[] {
  const found: number[] = [];
  for (let next = gathered.take(); next !== null; next = gathered.take()) found.push(next.group.length);
  return found;
}

test("operations of several messages make one group", () => {
  const gathered = new BatchQueue<Asked>(() => 0);
  for (let i = 0; i < 10; i++) gathered.add(asked("a", i, 1), i + 1);
  expect(gathered.take()).toEqual({ workspaceId: "a", group: asked("a", 0, 10) });
  expect(gathered.isEmpty).toBe(true);
  expect(gathered.take()).toBeNull();
});

test("a group is at most half of what is asked for, unless that is little", () => {
  const of = (count: number) => {
    const gathered = new BatchQueue<Asked>(() => 0);
    gathered.add(asked("a", 0, count), count);
    return sizes(gathered);
  };
  expect(of(16)).toEqual([16]);
  expect(of(64)).toEqual([32, 32]);
  expect(of(65)).toEqual([33, 32]);
  expect(of(2_000)).toEqual([512, 512, 512, 464]);
});

test("operations that stand for many share a transaction with few", () => {
  const gathered = new BatchQueue<Asked>(
    () => 0,
    () => 200,
  );
  gathered.add(asked("a", 0, 5), 5);
  expect(sizes(gathered)).toEqual([2, 2, 1]);
  const large = new BatchQueue<Asked>(
    () => 0,
    () => 1_000,
  );
  large.add(asked("a", 0, 2), 2);
  expect(sizes(large)).toEqual([1, 1]);
});

test("a workspace that asks for much does not keep another waiting", () => {
  const gathered = new BatchQueue<Asked>(() => 0);
  gathered.add([...asked("busy", 0, 500), ...asked("other", 500, 3)], 503);
  expect(gathered.take()?.workspaceId).toBe("busy");
  gathered.add(asked("busy", 503, 200), 400);
  expect(gathered.take()).toEqual({ workspaceId: "other", group: asked("other", 500, 3) });
  expect(gathered.take()?.workspaceId).toBe("busy");
});

test("the workspace that has used the least time is next", () => {
  const gathered = new BatchQueue<Asked>(() => 0);
  const order: string[] = [];
  for (let round = 0; round < 10; round++) {
    gathered.add([...asked("slow", 2 * round, 1), ...asked("quick", 2 * round + 1, 1)], 2);
    const next = gathered.take();
    order.push(next?.workspaceId ?? "");
    gathered.spent(next?.workspaceId ?? "", next?.workspaceId === "slow" ? 100 : 10);
  }
  // Nine turns of 10 ms, one of 100 ms.
  expect(order.filter((id) => id === "slow")).toHaveLength(1);
});

test("a workspace that comes back has no claim from before", () => {
  const gathered = new BatchQueue<Asked>(() => 0);
  const serve = (workspaceId: string) => {
    gathered.add(asked(workspaceId, 0, 1), 1);
    expect(gathered.take()?.workspaceId).toBe(workspaceId);
    gathered.spent(workspaceId, 100);
  };
  for (let i = 0; i < 10; i++) serve("steady");
  gathered.add([...asked("steady", 1, 1), ...asked("rested", 2, 1)], 2);
  expect(gathered.take()?.workspaceId).toBe("rested");
  gathered.spent("rested", 150);
  gathered.add(asked("rested", 3, 1), 2);
  expect(gathered.take()?.workspaceId).toBe("steady");
});

test("a workspace that may not be served now is left out", () => {
  const gathered = new BatchQueue<Asked>(() => 0);
  gathered.add([...asked("a", 0, 1), ...asked("b", 1, 1)], 2);
  expect(gathered.take((id) => id !== "a")?.workspaceId).toBe("b");
  expect(gathered.take((id) => id !== "a")).toBeNull();
  expect(gathered.take()?.workspaceId).toBe("a");
});

test("how long a group is expected to take follows from those before it", () => {
  const gathered = new BatchQueue<Asked>(() => 0);
  const expected = (): number => {
    let found = -1;
    gathered.add(asked("a", 0, 1), 1);
    gathered.take((_, groupMs) => {
      found = groupMs;
      return true;
    });
    return found;
  };
  expect(expected()).toBe(0);
  gathered.spent("a", 500, 100);
  expect(expected()).toBe(100);
  // One that took long for once is no reason to expect that of the next.
  for (let i = 0; i < 30; i++) gathered.spent("a", 1);
  gathered.spent("a", 40);
  expect(expected()).toBeLessThan(12);
});

test("large operations share a transaction as far as their text allows", () => {
  const gathered = new BatchQueue<Asked>(() => 200 * 1024);
  gathered.add(asked("a", 0, 5), 5);
  expect(sizes(gathered)).toEqual([2, 2, 1]);
  const huge = new BatchQueue<Asked>(() => 2 ** 30);
  huge.add(asked("a", 0, 2), 2);
  expect(sizes(huge)).toEqual([1, 1]);
});

test("every operation is served once, those of a workspace in their order", () => {
  const step = fc.oneof(
    fc.record({ workspace: fc.constantFrom("a", "b", "c"), count: fc.integer({ min: 1, max: 700 }) }),
    fc.constant("take" as const),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const gathered = new BatchQueue<Asked>(() => 0);
      const served = new Map<string, number[]>([..."abc"].map((id) => [id, []]));
      const expected = new Map<string, number[]>([..."abc"].map((id) => [id, []]));
      let made = 0;
      let depth = 0;
      const take = () => {
        const next = gathered.take();
        if (next === null) return false;
        depth -= next.group.length;
        served.get(next.workspaceId)?.push(...next.group.map(({ id }) => id));
        expect(next.group.every(({ workspaceId }) => workspaceId === next.workspaceId)).toBe(true);
        return true;
      };
      for (const one of steps) {
        if (one === "take") take();
        else {
          const operations = asked(one.workspace, made, one.count);
          made += one.count;
          depth += one.count;
          expected.get(one.workspace)?.push(...operations.map(({ id }) => id));
          gathered.add(operations, depth);
        }
      }
      while (take());
      expect(gathered.isEmpty).toBe(true);
      expect(served).toEqual(expected);
    }),
  );
});
