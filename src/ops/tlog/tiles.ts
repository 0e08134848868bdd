/**
 * Serves the log as static resources after C2SP tlog-tiles (https://c2sp.org/tlog-tiles): its newest seal, tiles of
 * hashes, and bundles of entries, which are the canonical bytes of the events. So a standard client can read and check
 * the whole log.
 *
 * Only events under the newest seal are served, so no resource except the seal ever changes. Requests are not recorded,
 * like those for seals, since caches answer most of them.
 */

import { scanEvents } from "../../core/rows/log/events.ts";
import { newestSeal } from "../../core/rows/log/seals.ts";
import { treeReader } from "../../core/rows/log/tree.ts";
import type { Answer } from "../../core/writer/contract.ts";
import type { LookContext } from "../../core/writer/operation.ts";
import { canonicalText } from "../../log/rows.ts";
import { TILE_WIDTH } from "../../log/tiles.ts";
import type { OperationInputs } from "../../operations.ts";
import { Problem } from "../../problem.ts";
import type { Reader } from "../../store/transaction.ts";

const NOT_COVERED = "The newest seal covers no such tile. GET the checkpoint, and ask only for tiles of its tree.";
const PRUNED = "Events of this bundle were pruned. Their hashes are still served as tiles.";

/** Returns a tile of hashes. @throws {Problem} when the newest seal does not cover it */
export async function showTile(
  reader: Reader,
  _context: LookContext,
  input: OperationInputs["tlog.tile"],
): Promise<Answer> {
  const { level, index, width } = input;
  await requireCovered(reader, level, index, width);
  return immutable(await treeReader(reader).readHashes(level, index * TILE_WIDTH, width));
}

/**
 * Returns a bundle of entries: for each a length of two bytes, big-endian, and the bytes of the event.
 * @throws {Problem} when the newest seal does not cover it, or events of it were pruned
 */
export async function showEntries(
  reader: Reader,
  _context: LookContext,
  input: OperationInputs["tlog.entries"],
): Promise<Answer> {
  const { index, width } = input;
  await requireCovered(reader, 0, index, width);
  const from = index * TILE_WIDTH;
  const events = await scanEvents(reader, null, { from, to: from + width - 1 });
  if (events.length !== width) throw new Problem("not_found", PRUNED);
  return immutable(Buffer.concat(events.flatMap((event) => withLength(Buffer.from(canonicalText(event), "latin1")))));
}

function withLength(entry: Buffer): Buffer[] {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(entry.length);
  return [length, entry];
}

async function requireCovered(reader: Reader, level: number, index: number, width: number): Promise<void> {
  const size = (await newestSeal(reader))?.size ?? 0;
  const hashes = Math.floor(size / TILE_WIDTH ** level);
  if (index * TILE_WIDTH + width > hashes) throw new Problem("not_found", NOT_COVERED);
}

const immutable = (body: Uint8Array): Answer => ({ kind: "bytes", contentType: "application/octet-stream", body });
