/** Which workspaces a thread keeps open. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { OpenWorkspaces } from "../../src/serve/threads/open-workspaces.ts";

/** What is open here has no file. */
const NO_FILE = (id: string): string => join("/nonexistent", id);

const nothing = (): void => {};

test("idle workspaces are closed, the oldest first, and none that is in use", async () => {
  const closed: string[] = [];
  const open = (id: string) => ({ close: () => void closed.push(id) });
  const workspaces = new OpenWorkspaces(open, { maxOpen: 2, idleMs: 10 }, NO_FILE);
  await workspaces.use("a", 0, nothing);
  await workspaces.use("b", 1, nothing);
  await workspaces.use("a", 2, nothing);
  await workspaces.use("c", 3, nothing);
  expect(closed).toEqual(["b"]);
  await workspaces.closeIdle(12);
  expect(closed).toEqual(["b"]);
  await workspaces.closeIdle(13);
  expect(closed).toEqual(["b", "a"]);
  expect(workspaces.ids()).toEqual(["c"]);
  workspaces.closeAll();
  expect(workspaces.ids()).toEqual([]);
  closed.length = 0;
  await workspaces.use("a", 20, async () => {
    for (const id of ["b", "c", "d"]) await workspaces.use(id, 21, nothing);
    await workspaces.closeIdle(100);
    expect([closed, workspaces.isInUse("a"), workspaces.ids()]).toEqual([["b", "c", "d"], true, ["a"]]);
  });
  expect(workspaces.isInUse("a")).toBe(false);
  await workspaces.closeIdle(100);
  expect(workspaces.ids()).toEqual([]);
});

test("one that was used while the clock was ahead is closed like any other", async () => {
  const workspaces = new OpenWorkspaces((id: string) => ({ id, close: nothing }), { maxOpen: 2, idleMs: 10 }, NO_FILE);
  await workspaces.use("a", 1_000_000, nothing);
  await workspaces.closeIdle(100);
  expect(workspaces.ids()).toEqual([]);
});

test("an idle workspace is settled before it is closed, and is in use meanwhile", async () => {
  const done: string[] = [];
  const open = (id: string) => ({
    settle: async () => void done.push(`settle ${id} ${workspaces.isInUse(id)}`),
    close: () => void done.push(`close ${id} ${workspaces.isInUse(id)}`),
  });
  const workspaces = new OpenWorkspaces(open, { maxOpen: 2, idleMs: 10 }, NO_FILE);
  for (const id of ["a", "b"]) await workspaces.use(id, 0, nothing);
  await workspaces.closeIdle(100);
  expect(done).toEqual(["settle a true", "close a false", "settle b true", "close b false"]);
});

test("one that has to make room for another is settled before it is closed, while the other counts as in use", async () => {
  const done: string[] = [];
  const open = (id: string) => ({
    settle: async () => void done.push(`settle ${id} ${["b", "c"].map((one) => workspaces.isInUse(one))}`),
    close: () => void done.push(`close ${id}`),
  });
  const workspaces = new OpenWorkspaces(open, { maxOpen: 2, idleMs: 10 }, NO_FILE);
  for (const id of ["a", "b", "c"]) await workspaces.use(id, 0, nothing);
  expect(done).toEqual(["settle a false,true", "close a"]);
  expect(["b", "c"].map((id) => workspaces.isInUse(id))).toEqual([false, false]);
});

test("one whose disk failed stays open beside its successor until it is released, in bounded number", async () => {
  const closed: string[] = [];
  let made = 0;
  const workspaces = new OpenWorkspaces(
    (id: string) => {
      const name = `${id}${++made}`;
      return { name, close: () => void closed.push(name) };
    },
    { maxOpen: 2, idleMs: 10 },
    NO_FILE,
  );
  await workspaces.use("a", 0, nothing);
  workspaces.setAside("a");
  expect(await workspaces.use("a", 0, ({ name }) => name)).toBe("a2");
  // One of a workspace is enough.
  workspaces.setAside("a");
  expect(closed).toEqual(["a2"]);
  for (const id of ["b", "c"]) {
    await workspaces.use(id, 0, nothing);
    workspaces.setAside(id);
  }
  expect(closed).toEqual(["a2", "c4"]);
  workspaces.closeAll();
  workspaces.release("a");
  expect(closed).toEqual(["a2", "c4", "a1"]);
  workspaces.setAside("a");
  workspaces.end();
  expect(closed).toEqual(["a2", "c4", "a1", "b3"]);
});
