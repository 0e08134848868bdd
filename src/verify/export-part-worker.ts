/** The thread that verifies parts of an export: a range of a file's lines for each message. */
import { parentPort } from "node:worker_threads";
import { ExportPart, type PartOptions } from "./events/export-part.ts";
import { type FileRange, linesOf } from "./events/lines.ts";
import type { Segment } from "./events/segment.ts";
import type { PartMessage, PartResult } from "./part-threads.ts";

/** Some lines of a file, to be verified. */
export interface PartJob {
  path: string;
  range: FileRange;
  options: PartOptions;
}

/** What was found; null when not all is well with the part. */
export type FoundPart = Segment | null;

parentPort?.on("message", (message: PartMessage<PartJob>) => {
  if (message === null) return parentPort?.close();
  const { path, range, options } = message.job;
  const part = new ExportPart(options);
  for (const piece of linesOf(path, range)) if (!part.push(piece)) break;
  parentPort?.postMessage({ id: message.id, result: part.segment() } satisfies PartResult<FoundPart>);
});
