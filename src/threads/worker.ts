/** The entry point of a workspace thread (workspace-thread.ts). */
import { parentPort, workerData } from "node:worker_threads";
import { RandomPool, systemClock } from "../ids.ts";
import { systemTimer } from "../timer.ts";
import { openWorkspaceFile } from "../workspace/file.ts";
import { type FromWriter, reportFailure, type ThreadOptions } from "./messages.ts";
import { prepareScreening } from "./preparation.ts";
import { collectWhenQuiet } from "./quiet-memory.ts";
import { WorkspaceThread } from "./workspace-thread.ts";

const options = workerData as ThreadOptions;

const thread = new WorkspaceThread(options, {
  clock: () => systemClock() + options.clockOffsetMs,
  timer: systemTimer,
  random: new RandomPool(),
  post: (text) => parentPort?.postMessage(text),
  openFile: openWorkspaceFile,
  onClosed: () => parentPort?.close(),
});
parentPort?.on("message", (text: string) => thread.receive(text));

collectWhenQuiet();
const post = (message: FromWriter) => parentPort?.postMessage(JSON.stringify(message));
post({ kind: "ready" });
prepareScreening().catch((error) => post({ kind: "failure", failure: reportFailure("screening", error) }));
