/** The leaves of a state's tree that a proof shows: what it is about, and the neighbour on either side. */
import { CompactRange } from "../merkle.ts";
import { comparePlaces, leafHash, type Place, type StateLeaf } from "./tree.ts";

/** The entries that a proof is about: one key, those under a prefix, or without either all of an agent. */
export interface Subject {
  agentId: string;
  key: string | null;
  prefix: string | null;
}

/** Returns where a leaf is with respect to the entries that a proof is about. */
export function sideOf({ agentId, key, prefix }: Subject, leaf: Place): "before" | "in" | "after" {
  const start = key ?? prefix ?? "";
  const isIn = leaf.agent_id === agentId && (key === null ? leaf.key.startsWith(start) : leaf.key === key);
  if (isIn) return "in";
  return comparePlaces(leaf, { agent_id: agentId, key: start }) < 0 ? "before" : "after";
}

/** A run of neighbouring leaves with the hashes around it. */
export interface Run {
  /** The number of its first leaf. */
  first: number;
  before: StateLeaf | null;
  entries: StateLeaf[];
  after: StateLeaf | null;
  /** The complete subtrees on both sides, hex. */
  left: string[];
  right: string[];
}

/** The leaves that are hashed before other work has a turn. */
const HASHED_AT_ONCE = 10_000;

/**
 * Returns the run of a state that a proof of a subject shows: the entry under a key alone, if there is one; otherwise all
 * that it is about, with the neighbour on either side.
 * @param leaves all of the state, in order
 */
export async function runOf(subject: Subject, leaves: readonly StateLeaf[], pause: () => Promise<void>): Promise<Run> {
  const firstIn = leaves.findIndex((leaf) => sideOf(subject, leaf) !== "before");
  const start = firstIn < 0 ? leaves.length : firstIn;
  const past = leaves.findIndex((leaf, at) => at >= start && sideOf(subject, leaf) === "after");
  const end = past < 0 ? leaves.length : past;
  const isHeld = subject.key !== null && end > start;
  const before = isHeld ? null : (leaves[start - 1] ?? null);
  const after = isHeld ? null : (leaves[end] ?? null);
  const [first, behind] = [before === null ? start : start - 1, after === null ? end : end + 1];
  const hashesOf = async (from: number, to: number) => {
    const range = new CompactRange(from);
    for (let at = from; at < to; at++) {
      if (at % HASHED_AT_ONCE === 0) await pause();
      range.append(leafHash(leaves[at] as StateLeaf));
    }
    return range.roots.map((hash) => hash.toHex());
  };
  const [left, right] = [await hashesOf(0, first), await hashesOf(behind, leaves.length)];
  return { first, before, entries: leaves.slice(start, end), after, left, right };
}
