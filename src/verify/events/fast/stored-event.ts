/** A stored event, if nothing is to be said of it: verified on its bytes, without an object made of it. */
import { SHA256 } from "bun";
import { type Bytes, copy, isHexOf, numberEnd, readHex, same } from "../../../log/bytes.ts";
import { UNSURE } from "../../../log/canonical-scan.ts";
import { SALT_BYTES } from "../../../log/hash.ts";
import { agentHash, type KnownChain, type KnownChains } from "./known-chains.ts";
import { HASH_CHARS, ID_CHARS, isTypeId, type Shape, TIME_CHARS } from "./shape.ts";

/** What stands between the parts of a stored event in a {@link StoredPage}; no part of a good one holds it. */
export const PART_END = 0x01;
const SALT_CHARS = 2 * SALT_BYTES;

/**
 * True when the bytes from `start` to `end` are the canonical text of an event, its hash, its salt in hex
 * and its details with PART_END between them; it is event `seq`; and hash, link and commitment are right. Then it is counted, `leaf` is its hash, and `known.accepted` says what it is. False says nothing.
 * A zero byte stands before `start`. The salt may be overwritten.
 */
export function takeStored(
  known: KnownChains,
  text: Bytes,
  start: number,
  end: number,
  seq: number,
  leaf: Uint8Array,
): boolean {
  const chain = known.find(agentHashOfBody(text.u8, start, end));
  if (chain === undefined) return false;
  for (let index = 0; index < chain.shapes.length; index++) {
    const shape = chain.shapes[index] as Shape;
    const agentSeqAt = shape.canonical.endAt(0, text, start);
    if (agentSeqAt < 0) continue;
    const bodyEnd = goodEnd(known, text, { start, agentSeqAt, end }, chain, shape, seq, leaf);
    if (bodyEnd < 0) continue;
    known.accept(chain, index, text, start, bodyEnd);
    return true;
  }
  return false;
}

/** The place behind the canonical text, when all is right; UNSURE otherwise. */
function goodEnd(
  known: KnownChains,
  text: Bytes,
  { start, agentSeqAt, end }: { start: number; agentSeqAt: number; end: number },
  chain: KnownChain,
  shape: Shape,
  seq: number,
  leaf: Uint8Array,
): number {
  const { u8 } = text;
  const { canonical } = shape;
  const agentSeqEnd = numberEnd(u8, agentSeqAt, chain.agentSeq + 1);
  if (agentSeqEnd < 0) return UNSURE;
  const commitmentAt = canonical.endAt(1, text, agentSeqEnd);
  if (commitmentAt < 0) return UNSURE;
  const idAt = canonical.endAt(2, text, commitmentAt + HASH_CHARS);
  if (idAt < 0 || !isTypeId(u8, idAt)) return UNSURE;
  const linkAt = canonical.endAt(3, text, idAt + ID_CHARS);
  if (linkAt < 0 || !same(text, linkAt, chain.hash, 0, HASH_CHARS)) return UNSURE;
  const seqAt = canonical.endAt(4, text, linkAt + HASH_CHARS);
  if (seqAt < 0) return UNSURE;
  const seqEnd = numberEnd(u8, seqAt, seq);
  if (seqEnd < 0) return UNSURE;
  const timeAt = canonical.endAt(5, text, seqEnd);
  if (timeAt < 0 || !known.time.fits(text, timeAt)) return UNSURE;
  const bodyEnd = canonical.endAt(6, text, timeAt + TIME_CHARS);
  if (bodyEnd < 0 || u8[bodyEnd] !== PART_END) return UNSURE;
  SHA256.hash(u8.subarray(start - 1, bodyEnd), leaf);
  const hashAt = bodyEnd + 1;
  if (!isHexOf(text, hashAt, leaf) || u8[hashAt + HASH_CHARS] !== PART_END) return UNSURE;
  if (!isCommitted(known, text, hashAt + HASH_CHARS + 1, commitmentAt, end)) return UNSURE;
  copy(chain.hash, 0, text, hashAt, HASH_CHARS);
  const { accepted } = known;
  accepted.shape = shape;
  accepted.seq = seq;
  accepted.timeMs = known.time.ms(text, timeAt);
  accepted.erased = false;
  return bodyEnd;
}

/** Whether the details up to `end` are canonical and, with the salt before them, what was committed to. */
function isCommitted(
  known: KnownChains,
  text: Bytes,
  saltAt: number,
  commitmentAt: number,
  end: number,
): boolean {
  const detailsAt = saltAt + SALT_CHARS + 1;
  if (text.u8[detailsAt - 1] !== PART_END || known.scan.objectEnd(text.u8, detailsAt) !== end) return false;
  if (!readHex(text.u8, saltAt, known.salt.u8, 0, SALT_BYTES)) return false;
  // The salt goes in front of the details, so that what is hashed is in one piece.
  const from = detailsAt - SALT_BYTES;
  copy(text, from, known.salt, 0, SALT_BYTES);
  known.accepted.detailsAt = detailsAt;
  known.accepted.detailsEnd = end;
  known.accepted.foreign = known.scan.foreign;
  SHA256.hash(text.u8.subarray(from, end), known.digest);
  return isHexOf(text, commitmentAt, known.digest);
}

const QUOTE = 0x22;
/** Characters of `{"actor":"` and of `,"agent_id":"`. */
const ACTOR_AT = 10;
const AGENT_LEAD = 13;

/** The hash of the agent's id in a canonical text, whose form is not known yet. */
function agentHashOfBody(text: Uint8Array, start: number, end: number): number {
  let at = start + ACTOR_AT;
  while (at < end && text[at] !== QUOTE) at++;
  at += AGENT_LEAD;
  if (text[at] !== QUOTE) return agentHash(text, at, at); // null, or out of form
  let last = at + 1;
  while (last < end && text[last] !== QUOTE) last++;
  return agentHash(text, at + 1, last);
}
