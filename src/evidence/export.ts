/** An export as evidence, read as a stream. */
import { ExportVerifier } from "../log/export-read.ts";
import { type ObstacleCode, resultOf, type SourceResult } from "./report.ts";
import type { Trust } from "./trust.ts";

/** What is asked of an export. */
export interface ExportWish {
  /** How the file is named to the person. */
  path: string;
  /** The agent whose chain must be in it. */
  agentId?: string;
  /** The key and the seals that the auditor brought. */
  trust?: Trust;
  /** Told after each piece how many bytes were read. */
  onProgress?: (bytes: number) => void | Promise<void>;
}

/** Verifies an export from its bytes. */
export async function verifyExport(
  bytes: AsyncIterable<Uint8Array>,
  wish: ExportWish,
): Promise<SourceResult> {
  const verifier = new ExportVerifier({
    publicKey: wish.trust?.publicKey ?? null,
    anchors: wish.trust?.seals ?? [],
  });
  let read = 0;
  for await (const piece of bytes) {
    verifier.push(piece);
    read += piece.length;
    await wish.onProgress?.(read);
  }
  const found = verifier.finish();
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
