/** An export as evidence, read as a stream, or by several threads when it is a large file. */
import { statSync } from "node:fs";
import { type ExportReport, ExportVerifier } from "./events/export-read.ts";
import { linesOf } from "./events/lines.ts";
import { type PartWish, verifyInParts } from "./export-parts.ts";
import { type ObstacleCode, resultOf, type SourceResult } from "./report.ts";
import type { Trust } from "./trust.ts";

/** What is asked of an export. */
export interface ExportWish extends PartWish {
  /** How the file is named to the person. */
  path: string;
  /** The agent whose chain must be in it. */
  agentId?: string;
  /** The key and the seals that the auditor brought. */
  trust?: Trust;
}

/** Verifies an export from its bytes. */
export async function verifyExport(
  bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  wish: ExportWish,
): Promise<SourceResult> {
  const verifier = new ExportVerifier(trustOf(wish));
  let read = 0;
  for await (const piece of bytes) {
    verifier.push(piece);
    read += piece.length;
    await wish.onProgress?.(read);
  }
  return resultOfExport(verifier.finish(), wish);
}

/**
 * Verifies an export in a file, with several threads where it is large and nothing is wrong with it. What is
 * reported does not depend on how many there are: when anything is wrong, one thread verifies all of it again.
 *
 * @throws {Failure} `evidence_unreadable` when a thread dies
 */
export async function verifyExportFile(threads: number, wish: ExportWish): Promise<SourceResult> {
  const { path } = wish;
  const found = await verifyInParts(threads, path, trustOf(wish), wish);
  if (found !== null) return resultOfExport(found, wish);
  return await verifyExport(linesOf(path, { from: 0, to: statSync(path).size }), wish);
}

function trustOf({ trust }: ExportWish) {
  return { publicKey: trust?.publicKey ?? null, anchors: trust?.seals ?? [] };
}

function resultOfExport(found: ExportReport, wish: ExportWish): SourceResult {
  const obstacles: { code: ObstacleCode; message: string }[] = [];
  if (found.undetermined !== null) {
    const code = found.header === null && found.eventsChecked === 0 ? "not_evidence" : "export_incomplete";
    obstacles.push({ code, message: found.undetermined });
  } else if (found.eventsChecked === 0 && (found.header?.seal ?? null) === null) {
    obstacles.push({
      code: "log_empty",
      message: "the export holds no events, and no seal says that there were none",
    });
  } else if (wish.agentId !== undefined && !found.agents.some(({ agent_id }) => agent_id === wish.agentId)) {
    obstacles.push({ code: "agent_unknown", message: "this export has no events of that agent" });
  }
  const kind = found.header === null && found.eventsChecked === 0 ? "unknown" : "export";
  return resultOf({ path: wish.path, kind }, found, obstacles);
}
