/** A large export in a file, verified by several threads, a part each. */
import { statSync } from "node:fs";
import type { Seal } from "../log/seal.ts";
import { type ExportReport, ExportVerifier } from "./events/export-read.ts";
import { type FileRange, linesOf, nextLine } from "./events/lines.ts";
import type { FoundPart, PartJob } from "./export-part-worker.ts";
import { PartThreads } from "./part-threads.ts";

/** About how many bytes a part has, unless said otherwise. */
const PART_BYTES = 8 * 1024 * 1024;
/** The end of the file is read by who puts the parts together. */
const END_BYTES = 256 * 1024;
/** Files of fewer parts are verified faster than threads start. */
const MIN_PARTS = 4;

/** How the work is divided, and told. */
export interface PartWish {
  /** Told how many bytes are read. */
  onProgress?: (bytes: number) => void | Promise<void>;
  /** About how many bytes a thread takes at once. */
  partBytes?: number;
}

/**
 * The report on an export with which all is well; null when anything is not, when it is small, and when it
 * is not divided into lines as this format's own writer does.
 *
 * @throws {Failure} `evidence_unreadable` when a thread dies
 */
export async function verifyInParts(
  threads: number,
  path: string,
  trust: { publicKey: Uint8Array | null; anchors: readonly Seal[] },
  { onProgress, partBytes = PART_BYTES }: PartWish,
): Promise<ExportReport | null> {
  const { size } = statSync(path);
  if (threads < 2 || size < MIN_PARTS * partBytes) return null;
  // They come up while the file's beginning is read.
  using workers = new PartThreads<PartJob, FoundPart>(threads, "verify/export-part-worker.ts");
  const whole = new ExportVerifier(trust);
  const start = takeBeginning(whole, path, size);
  if (start === null || whole.form === null) return null;
  const ranges = partsOf(path, { from: start, to: size - END_BYTES }, partBytes);
  if (ranges === null) return null;
  const { form, scope } = whole;
  const marks = [...new Set(trust.anchors.map((seal) => seal.size))].sort((a, b) => a - b);
  const jobs = ranges.map((range): PartJob => ({ path, range, options: { form, scope, marks } }));
  let done = start;
  for await (const segment of workers.verify(jobs)) {
    if (segment === null) return null;
    whole.append(segment);
    done += partBytes;
    await onProgress?.(Math.min(done, size));
  }
  for (const piece of linesOf(path, { from: ranges.at(-1)?.to ?? start, to: size })) whole.push(piece);
  const report = whole.finish();
  return report.valid && report.undetermined === null ? report : null;
}

/** Feeds the first lines, until events follow; answers where they end, or null when none do. */
function takeBeginning(whole: ExportVerifier, path: string, size: number): number | null {
  for (const piece of linesOf(path, { from: 0, to: size })) {
    whole.push(piece);
    return whole.mayAppend ? piece.length : null;
  }
  return null;
}

/** A range of a file divided where lines end; some bytes behind it may belong to its last part. */
function partsOf(path: string, { from, to }: FileRange, bytes: number): FileRange[] | null {
  const ranges: FileRange[] = [];
  for (let start = from; start < to; ) {
    const end = nextLine(path, Math.min(start + bytes, to));
    if (end === null || end > to + END_BYTES / 2) return null;
    ranges.push({ from: start, to: end });
    start = end;
  }
  return ranges;
}
