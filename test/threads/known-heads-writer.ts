/** A thread that changes the known head of one workspace all the time, until it is ended. */
import { workerData } from "node:worker_threads";
import { KnownHeads } from "../../src/serve/threads/known-heads.ts";
import { headOf } from "./known-heads.ts";

const { memory, workspaceId } = workerData as { memory: SharedArrayBuffer; workspaceId: string };
const heads = new KnownHeads(memory);
for (let seq = 0; ; seq++) heads.set(workspaceId, headOf(seq));
