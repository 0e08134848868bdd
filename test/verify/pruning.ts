/** Prunes a test's workspace, without the export that the command requires. */
import { expect } from "bun:test";
import { countPrunable, keptBy, PRUNE } from "../../src/core/rows/log/pruning.ts";
import { storeTilesUpTo } from "../../src/core/rows/log/tree.ts";
import { answered } from "../../src/core/writer/operation.ts";
import { TILE_WIDTH } from "../../src/log/tiles.ts";
import type { Reader } from "../../src/store/transaction.ts";
import type { Driver } from "./sample-workspace.ts";

/** Prunes the first tiles. */
export async function pruneTiles(
  { connection, writer }: Pick<Driver, "connection" | "writer">,
  tiles: number,
): Promise<void> {
  const beforeSeq = tiles * TILE_WIDTH;
  const run = async (reader: Reader) => {
    const events = await countPrunable(reader, beforeSeq);
    const kept = await keptBy(reader, beforeSeq, async () => {});
    const digest = { before_time: "2026-01-01T00:00:00.000Z", export_digest: "0".repeat(64) };
    const effect = { kind: "prune" as const, beforeSeq, events };
    return answered(null, { before_seq: beforeSeq, events, ...digest, kept }, "{}", { effect });
  };
  await storeTilesUpTo(connection, beforeSeq);
  const principal = { actor: "cli", workspaceId: writer.workspaceId, scope: "full", agents: null } as const;
  const [reply] = await writer.perform([{ operation: PRUNE, principal, run }]);
  expect(reply?.auditId).toBeString();
}
