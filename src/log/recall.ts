/**
 * What a read returned, as its event states it (docs/audit-format.md, "What a read returned"): the versions, each by the
 * position of the event that wrote it.
 */
import { MOST_POSITIONS } from "../details.ts";
import { isJsonObject, type JsonObject } from "../json.ts";
import { type EventName, NO_MOMENT_CODES, VIEW } from "../operations.ts";
import { eventHash } from "./hash.ts";
import { CompactRange } from "./merkle.ts";

const POSITION_BYTES = 8;

/** The members of the details of a read that returned versions: `returned`, or `returned_count` and `returned_root`. */
export type Recall = JsonObject;

/** Returns the members for what was returned. @param written the positions of the writes, in any order */
export function recallOf(written: readonly number[]): Recall {
  if (written.length <= 1) return { returned: [...written] };
  // Sorted as numbers, many times as fast as a list.
  const sorted = Float64Array.from(written).sort();
  const positions = Array.from(sorted).filter((one, at) => one !== sorted[at - 1]);
  if (positions.length <= MOST_POSITIONS) return { returned: positions };
  return { returned_count: positions.length, returned_root: rootOf(positions) };
}

/** Returns the root over positions, hex: RFC 6962, each leaf eight bytes, the most significant first. */
function rootOf(positions: readonly number[]): string {
  const tree = new CompactRange();
  const leaf = Buffer.alloc(POSITION_BYTES);
  for (const position of positions) {
    leaf.writeBigUInt64BE(BigInt(position));
    tree.append(Uint8Array.fromHex(eventHash(leaf)));
  }
  return tree.root().toHex();
}

/**
 * Returns the member that says of which state a read was, for an event at position `seq`; none for the state right before
 * its event.
 * @param readSeq the position of the newest event of that state
 */
export const readAt = (readSeq: number, seq: number, { returned }: Recall): JsonObject =>
  readSeq >= seq - 1 || (Array.isArray(returned) && returned.length === 0) ? {} : { read_seq: readSeq };

const RECALL = ["returned", "returned_count", "returned_root", "read_seq"] as const;

/** Returns the members of details that say what was returned. */
export const recallIn = (details: JsonObject): JsonObject =>
  Object.fromEntries(RECALL.flatMap((name) => (details[name] === undefined ? [] : [[name, details[name]]])));

/** Returns details without what was returned. */
export const withoutRecall = (details: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(details).filter(([name]) => !(RECALL as readonly string[]).includes(name)));

/** Reports whether what details say of what was returned fits together, and is from before the event at `seq`. */
export function isRecallPossible(details: JsonObject, seq: number): boolean {
  const { returned, returned_count: count, returned_root: root, read_seq: readSeq } = details;
  const asOf = momentIn(details);
  if ((count === undefined) !== (root === undefined) || (returned !== undefined && count !== undefined)) return false;
  if (typeof count === "number" && count <= MOST_POSITIONS) return false;
  const last = Array.isArray(returned) ? (returned.at(-1) as number | undefined) : undefined;
  if (last !== undefined && last >= seq) return false;
  if (asOf !== null && (asOf >= seq || (last !== undefined && last > asOf))) return false;
  if (readSeq === undefined) return true;
  return (
    (last !== undefined || count !== undefined) && (readSeq as number) < seq - 1 && (asOf ?? 0) <= (readSeq as number)
  );
}

/** Whether a read was of the state before its event, and not of an earlier moment, or of one that is not there. */
export const isOfPresent = (details: JsonObject): boolean =>
  momentIn(details) === null && !NO_MOMENT.has(details.code as string);

const NO_MOMENT: ReadonlySet<string> = new Set(NO_MOMENT_CODES);

/** Returns the position of the moment that a read was of, as details state it; null for the present. */
function momentIn({ as_of: asOf }: JsonObject): number | null {
  return isJsonObject(asOf) && typeof asOf.seq === "number" ? asOf.seq : null;
}

/** A read whose event lists what it returned. */
export interface ListedRecall {
  /** The agent of the entries. */
  agentId: string;
  positions: readonly number[];
  /** The ids of the checkpoints whose states were read. */
  checkpoints: readonly string[];
  /** The position of the newest event of the other state that was read; null when only checkpoints were. */
  readSeq: number | null;
  /** The key of all of them; null when the event does not say. */
  key: string | null;
  /** The position of the newest event of the state in which it was found out what exists for the reader. */
  seenAt: number;
  /** Whether also versions were read that had ended before, and were kept. */
  ofHistory: boolean;
}

/** Returns what an event lists as returned; null when it lists nothing. @param details null when they are erased */
export function listedRecall(
  event: { operation: string; seq: number; agent_id: string | null },
  details: JsonObject | null,
): ListedRecall | null {
  if (details === null || !Array.isArray(details.returned) || details.returned.length === 0) return null;
  const { returned, read_seq: readSeq, checkpoint_id: from, to } = details;
  const agentId = event.agent_id ?? details.agent_id;
  if (typeof agentId !== "string") return null;
  const checkpoints = [from, to].filter((one) => typeof one === "string");
  const operation = event.operation === VIEW ? details.operation : event.operation;
  const ofCheckpoints = checkpoints.length === 2 || operation === READ_CHECKPOINT;
  const seenAt = typeof readSeq === "number" ? readSeq : event.seq - 1;
  const other = momentIn(details) ?? seenAt;
  return {
    agentId,
    positions: returned as number[],
    checkpoints,
    readSeq: ofCheckpoints ? null : other,
    key: typeof details.key === "string" ? details.key : null,
    seenAt,
    ofHistory: operation === READ_HISTORY,
  };
}

const READ_CHECKPOINT: EventName = "checkpoint.read";
const READ_HISTORY: EventName = "data.versions";
