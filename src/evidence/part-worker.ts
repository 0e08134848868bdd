/** The thread that verifies parts of an export: a range of a file's lines for each message. */
import { parentPort } from "node:worker_threads";
import { ExportPart } from "../log/export-part.ts";
import { linesOf } from "./lines.ts";
import type { PartJob, PartResult } from "./part-threads.ts";

parentPort?.on("message", ({ id, path, range, options }: PartJob) => {
  const part = new ExportPart(options);
  for (const piece of linesOf(path, range)) if (!part.push(piece)) break;
  parentPort?.postMessage({ id, segment: part.segment() } satisfies PartResult);
});
