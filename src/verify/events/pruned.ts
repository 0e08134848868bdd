/**
 * Verifies the pruned beginning of a log, where only the leaf hashes of most events are left. The tree over the hashes
 * must be the one that was sealed, and the kept events must have these hashes.
 */

import { createHash } from "node:crypto";
import { prunedEvents } from "../../core/rows/log/pruning.ts";
import type { FileEvent } from "../../core/rows/log/stored-events.ts";
import type { JsonObject } from "../../json.ts";
import { type AuditEventBody, EventFormatError, formProblem } from "../../log/event.ts";
import { eventHash } from "../../log/hash.ts";
import { CompactRange, HASH_BYTES } from "../../log/merkle.ts";
import { bodyOf } from "../../log/present.ts";
import { declaredRestore } from "../../log/restores.ts";
import { TILE_BYTES, TILE_WIDTH } from "../../log/tiles.ts";
import { isErasable } from "../../operations.ts";
import type { Reader } from "../../store/transaction.ts";
import type { KeptState } from "../rows/expected/kept-rows.ts";
import type { SealFeed } from "../rows/stored-seals.ts";
import type { TileCheck } from "../rows/stored-tiles.ts";
import { newChain } from "./chains.ts";
import { genuineDetails, isErased } from "./details.ts";
import { pagesOfLog } from "./log-pages.ts";
import type { LogVerifier } from "./log-verifier.ts";
import { Premises } from "./premises.ts";
import { namedKey } from "./sealed-tree.ts";
import { type ChainState, plainRange, type Segment } from "./segment.ts";

interface PrunedParts {
  reader: Reader;
  verifier: LogVerifier;
  seals: SealFeed;
  tiles: TileCheck;
  /** The pruning. */
  stated: KeptState | null;
  /** Called with every kept event. */
  takeKept(event: AuditEventBody, details: JsonObject | null, isKnown: boolean): void;
}

/** Verifies the remains of the events before `beforeSeq`. The verifier then continues with that event. */
export async function takePruned(parts: PrunedParts, beforeSeq: number): Promise<void> {
  const kept = await keptEvents(parts, beforeSeq);
  const gone = beforeSeq - kept.count - (await prunedEvents(parts.reader));
  if (gone > 0) parts.verifier.report("seq_gap", null, null, `${gone} events are gone that the prunings kept`);
  else if (parts.stated?.kept.events_digest !== kept.digest) {
    const message = "the events from before the pruning are not those that it states to have kept";
    parts.verifier.report("seq_gap", null, parts.stated?.seq ?? null, message);
  }
  for (let start = 0; start < beforeSeq; start += TILE_WIDTH) {
    const leaves = await leavesOf(parts.reader, start / TILE_WIDTH);
    if (leaves === null) {
      const message = "leaves of the tree are gone, and with them the events that they stand for";
      parts.verifier.report("row_mismatch", null, start, message);
      return;
    }
    await parts.seals.upTo(start + TILE_WIDTH);
    await parts.tiles.addLeaves(start / TILE_WIDTH, leaves);
    parts.verifier.append(segmentOf(start, leaves, start === 0 ? kept : null));
  }
}

interface Kept {
  count: number;
  /** SHA-256 (hex) over the numbers of the events, each on a line. */
  digest: string;
  workspaceId: string | null;
  chains: ChainState[];
  keys: Segment["keys"];
  restores: Segment["restores"];
}

async function keptEvents(parts: PrunedParts, beforeSeq: number): Promise<Kept> {
  const numbers = createHash("sha256");
  const kept: Kept = { count: 0, digest: "", workspaceId: null, chains: [], keys: [], restores: [] };
  const chains = new Map<string | null, ChainState>();
  for await (const page of pagesOfLog(parts.reader, beforeSeq - 1)) {
    for (const stored of page) {
      kept.count += 1;
      numbers.update(`${stored.seq}\n`);
      const said = await keptEvent(parts, stored);
      if (said === null) continue;
      const { event, details, isKnown } = said;
      kept.workspaceId ??= event.workspace_id;
      const end = { event, hash: eventHash(stored.canonical) };
      const chain = chains.getOrInsertComputed(event.agent_id, () => ({ ...newChain(end), events: 0 }));
      chain.last = end;
      chain.events += 1;
      parts.takeKept(event, details, isKnown);
      const restore = declaredRestore(event, details);
      if (restore !== null) kept.restores.push(restore);
      const key = namedKey(event, details);
      if (key !== null) kept.keys.push(key);
    }
  }
  kept.chains = [...chains.values()];
  kept.digest = numbers.digest("hex");
  return kept;
}

interface KeptEvent {
  event: AuditEventBody;
  /** Null when erased. */
  details: JsonObject | null;
  /** Whether its vocabulary is known. */
  isKnown: boolean;
}

/** Returns a kept event if it is well-formed, matches its leaf, and has genuine details; otherwise null. */
async function keptEvent({ reader, verifier }: PrunedParts, stored: FileEvent): Promise<KeptEvent | null> {
  const fail = (code: "event_malformed" | "hash_mismatch" | "row_mismatch", message: string) => {
    verifier.report(code, null, stored.seq, message);
    return null;
  };
  let event: AuditEventBody;
  try {
    event = bodyOf(stored);
  } catch (error) {
    if (!(error instanceof EventFormatError)) throw error;
    return fail("event_malformed", `not an event: ${error.message}`);
  }
  const tile = await leavesOf(reader, Math.floor(stored.seq / TILE_WIDTH));
  const at = (stored.seq % TILE_WIDTH) * HASH_BYTES;
  const leaf = tile === null ? "" : Buffer.from(tile.subarray(at, at + HASH_BYTES)).toString("hex");
  const hash = eventHash(stored.canonical);
  if (leaf !== hash) return fail("hash_mismatch", "the event is not the leaf of its place in the tree");
  if (stored.hash !== hash || event.seq !== stored.seq || !stored.typed) {
    return fail("row_mismatch", "a column beside the event says something else than the event");
  }
  const mayBeErased = isErasable(event.operation) || verifier.vocabularies.standing === "newer";
  const genuine = isErased(stored) && mayBeErased ? { said: null } : genuineDetails(stored, event);
  const details = "said" in genuine ? genuine.said : null;
  const number = verifier.vocabularies.take(event, details);
  if (number.problem !== null) verifier.report("vocabulary_invalid", null, event.seq, number.problem);
  const isKnown = number.standing === "known";
  const found = "said" in genuine ? (isKnown ? formProblem(event, details, null) : null) : genuine;
  if (found !== null) verifier.report(found.code, null, event.seq, found.message);
  return found === null ? { event, details, isKnown } : null;
}

async function leavesOf(reader: Reader, tile: number): Promise<Uint8Array | null> {
  const hashes = await reader.value("SELECT hashes FROM tiles WHERE level = 0 AND tile = ?", [tile]);
  return hashes instanceof Uint8Array && hashes.length === TILE_BYTES ? hashes : null;
}

/** Returns a tile's leaves as a segment of the log. A seal may have any size within it, so each is marked. */
function segmentOf(start: number, leaves: Uint8Array, kept: Kept | null): Segment {
  const tree = new CompactRange(start);
  const marks: Segment["marks"] = [];
  for (let at = 0; at < leaves.length; at += HASH_BYTES) {
    tree.append(leaves.slice(at, at + HASH_BYTES));
    marks.push(plainRange(tree));
  }
  return {
    start,
    nextSeq: start + TILE_WIDTH,
    workspaceId: kept?.workspaceId ?? null,
    first: null,
    last: null,
    events: 0,
    intact: true,
    chains: kept?.chains ?? [],
    problems: { reported: [], count: 0, first: null },
    tree: plainRange(tree),
    marks,
    keys: kept?.keys ?? [],
    // Nothing stored depends on them, and the erasures that named them may be pruned.
    blanks: [],
    erasures: [],
    restores: kept?.restores ?? [],
    premises: new Premises(false).toPlain(),
  };
}
