/** The known heads of the logs, which one thread changes and others read. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { KnownHeads } from "../../src/serve/threads/known-heads.ts";
import { headOf } from "./known-heads.ts";

const ID = "ws_01m8h6xrcaeanvgbnk9r1yzv0v";
/** How many different heads are read, however seldom the two threads run at the same time. */
const HEADS = 300;

test("a head is that of one event, also while another thread replaces it", async () => {
  const heads = new KnownHeads();
  heads.set(ID, headOf(0));
  const workerData = { memory: heads.memory, workspaceId: ID };
  const writer = new Worker(join(import.meta.dir, "known-heads-writer.ts"), { workerData });
  try {
    while ((heads.get(ID)?.seq ?? 0) === 0) await Bun.sleep(1);
    const [seen, mixed] = [new Set<number>(), [] as unknown[]];
    while (seen.size < HEADS) {
      const head = heads.get(ID);
      if (head === null) continue; // it was being replaced all the time
      seen.add(head.seq);
      if (head.hash !== headOf(head.seq).hash || head.knownMs !== head.seq) mixed.push(head);
    }
    expect(mixed.slice(0, 3)).toEqual([]);
  } finally {
    await writer.terminate();
  }
});

test("a thread that ended in the middle of a change does not keep the next one from changing a head", () => {
  const heads = new KnownHeads();
  heads.set(ID, headOf(7));
  // As it is while a head is being changed.
  new Int32Array(heads.memory, heads.memory.byteLength - Int32Array.BYTES_PER_ELEMENT)[0] = 3;
  expect(heads.get(ID)).toBeNull();
  new KnownHeads(heads.memory).set(ID, headOf(8));
  expect(heads.get(ID)).toEqual(headOf(8));
});
