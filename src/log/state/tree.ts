/**
 * The tree over the entries of a workspace that are present at a position of its log (docs/audit-format.md, "State
 * root"): RFC 6962, with a leaf for each entry, in the order of the agent's id and then of the key, as bytes of UTF-8.
 */
import { eventHash } from "../hash.ts";
import { canonicalString } from "../jcs.ts";
import { CompactRange } from "../merkle.ts";

/** Where an entry is: the agent's id and the key. */
export interface Place {
  agent_id: string;
  key: string;
}

/** What the tree binds of an entry. */
export interface StateLeaf extends Place {
  /** The digest of its content, as the event that wrote it states it. */
  value_digest: string;
  /** The position of that event. */
  version: number;
}

/** Returns the canonical text of a leaf. @throws CanonicalJsonError when the key holds a lone surrogate */
export const leafText = ({ agent_id, key, value_digest, version }: StateLeaf): string =>
  `{"agent_id":"${agent_id}","key":${canonicalString(key)},"value_digest":"${value_digest}","version":${version}}`;

/** Returns the hash of a leaf. */
export const leafHash = (leaf: StateLeaf): Uint8Array => Uint8Array.fromHex(eventHash(leafText(leaf)));

/** The units of UTF-16 from which on their order is not that of UTF-8. */
const SURROGATES = 0xd800;

/** Compares two texts by their bytes in UTF-8. */
function compareTexts(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  let at = 0;
  while (at < length && a.charCodeAt(at) === b.charCodeAt(at)) at++;
  if (at === length) return a.length - b.length;
  const [one, other] = [a.charCodeAt(at), b.charCodeAt(at)];
  if (one < SURROGATES || other < SURROGATES) return one - other;
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** Compares two places by their order in the tree. */
export const comparePlaces = (a: Place, b: Place): number =>
  compareTexts(a.agent_id, b.agent_id) || compareTexts(a.key, b.key);

/** The root of a state, and the number of its entries. */
interface StateRoot {
  /** Hex. */
  root: string;
  count: number;
}

/** Returns the root over leaves in order. */
export function rootOfLeaves(leaves: Iterable<StateLeaf>): StateRoot {
  const tree = new CompactRange();
  for (const leaf of leaves) tree.append(leafHash(leaf));
  return { root: tree.root().toHex(), count: tree.end };
}
