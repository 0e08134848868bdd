/** The entry point of a workspace thread (workspace-thread.ts). */
import { parentPort, workerData } from "node:worker_threads";
import { openWorkspaceFile } from "../../core/writer/file.ts";
import { RandomPool, systemClock } from "../../ids.ts";
import { buildScreeningTables } from "../../screen/decide.ts";
import { limitPatternWork } from "../../screen/patterns/work.ts";
import { limitUnreleased } from "../../store/closing.ts";
import { nextTurn, systemTimer } from "../../timer.ts";
import { collectWhenIdle } from "./idle-collection.ts";
import { type FromWriter, failureOf, type ThreadOptions } from "./messages.ts";
import { WorkspaceThread } from "./workspace-thread.ts";

/** The most work with patterns for one decision: at most about 20 ms, and mostly far less. */
const PATTERN_WORK = 200_000;

const options = workerData as ThreadOptions;

limitPatternWork(PATTERN_WORK);

limitUnreleased(options.open.unreleased);
const thread = new WorkspaceThread(options, {
  clock: () => systemClock() + options.clockOffsetMs,
  monotonicMs: () => performance.now(),
  timer: systemTimer,
  random: new RandomPool(),
  post: (text) => parentPort?.postMessage(text),
  openFile: openWorkspaceFile,
  onClosed: () => parentPort?.close(),
});
parentPort?.on("message", (text: string) => thread.receive(text));

collectWhenIdle(() => thread.connections());
const post = (message: FromWriter) => parentPort?.postMessage(JSON.stringify(message));
post({ kind: "ready" });
// Building the tables takes up to 100 ms, so messages that already wait are handled first.
nextTurn()
  .then(buildScreeningTables)
  .catch((error) => post(failureOf("screening", error)));
