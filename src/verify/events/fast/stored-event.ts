/** The fast path for stored events. */
import { Bytes, numberEnd } from "../../../log/bytes.ts";
import { UNSURE } from "../../../log/canonical-scan.ts";
import { SALT_BYTES } from "../../../log/hash.ts";
import { agentHashAt, type KnownChain, type KnownChains } from "./known-chains.ts";
import type { Shape } from "./shape.ts";
import { HASH_CHARS, ID_CHARS, isEventId, TIME_CHARS } from "./text-forms.ts";

/**
 * The byte before the first event of a page and after each event. The hashed text of an event begins with this byte.
 */
const EVENT_END = 0x00;
/** Separates the parts of an event in a page; no part of a valid event contains it. */
export const PART_END = 0x01;
const SALT_CHARS = 2 * SALT_BYTES;

/** Consecutive stored events in one piece of memory, as a single query returns them. */
export interface StoredPage {
  bytes: Bytes;
  firstSeq: number;
  count: number;
  /** Where each event begins, and where another one after the last would begin. */
  starts: Int32Array;
}

/**
 * Returns the page of `count` events from number `firstSeq` on. Null when the number of pieces differs, since a text
 * that contains EVENT_END looks like two.
 */
export function storedPage(bytes: Uint8Array, firstSeq: number, count: number): StoredPage | null {
  const starts = new Int32Array(count + 1);
  let at = 0;
  for (let index = 0; index < count; index++) {
    if (bytes[at] !== EVENT_END) return null;
    starts[index] = at + 1;
    const end = bytes.indexOf(EVENT_END, at + 1);
    at = end < 0 ? bytes.length : end;
  }
  starts[count] = at + 1;
  return at === bytes.length ? { bytes: new Bytes(bytes), firstSeq, count, starts } : null;
}

/**
 * Accepts the bytes from `start` to `end` if they are a valid event with number `seq`: its canonical text, its hash,
 * its salt in hex and its details, separated by PART_END, with a zero byte before them. It then sets `leaf` to the
 * event's hash, and `known.accepted` to its facts. False does not mean that the event is not valid.
 */
export function takeStored(known: KnownChains, text: Bytes, start: number, end: number, seq: number, leaf: Uint8Array) {
  const chain = known.find(agentHashOfBody(text.u8, start, end));
  if (chain === undefined) return false;
  for (let index = 0; index < chain.shapes.length; index++) {
    const shape = chain.shapes[index] as Shape;
    const agentSeqAt = shape.canonical.endAt(0, text, start);
    if (agentSeqAt < 0) continue;
    const bodyEnd = findParts(known, text, agentSeqAt, end, chain, shape, seq);
    if (bodyEnd < 0) continue;
    if (known.accept(chain, index, text, text, start, bodyEnd, leaf)) return true;
  }
  return false;
}

/** Finds the parts of an event of a shape. Returns the end of its canonical text, or UNSURE. */
function findParts(
  { accepted, scan, time, policies }: KnownChains,
  text: Bytes,
  agentSeqAt: number,
  end: number,
  chain: KnownChain,
  { canonical, details }: Shape,
  seq: number,
): number {
  const { u8 } = text;
  const agentSeqEnd = numberEnd(u8, agentSeqAt, chain.agentSeq + 1);
  if (agentSeqEnd < 0) return UNSURE;
  const commitmentAt = canonical.endAt(1, text, agentSeqEnd);
  if (commitmentAt < 0) return UNSURE;
  const idAt = canonical.endAt(2, text, commitmentAt + HASH_CHARS);
  if (idAt < 0 || !isEventId(u8, idAt, seq)) return UNSURE;
  const linkAt = canonical.endAt(3, text, idAt + ID_CHARS);
  if (linkAt < 0) return UNSURE;
  const seqAt = canonical.endAt(4, text, linkAt + HASH_CHARS);
  if (seqAt < 0) return UNSURE;
  const seqEnd = numberEnd(u8, seqAt, seq);
  if (seqEnd < 0) return UNSURE;
  const timeAt = canonical.endAt(5, text, seqEnd);
  if (timeAt < 0 || !time.fits(text, timeAt)) return UNSURE;
  const bodyEnd = canonical.endAt(6, text, timeAt + TIME_CHARS);
  if (bodyEnd < 0 || u8[bodyEnd] !== PART_END) return UNSURE;
  const saltAt = bodyEnd + HASH_CHARS + 2;
  const detailsAt = saltAt + SALT_CHARS + 1;
  if (u8[saltAt - 1] !== PART_END || u8[detailsAt - 1] !== PART_END) return UNSURE;
  if (details.end(scan, text, detailsAt, policies) !== end) return UNSURE;
  accepted.seq = seq;
  accepted.timeMs = time.ms(text, timeAt);
  accepted.erased = false;
  accepted.hashAt = bodyEnd + 1;
  accepted.linkAt = linkAt;
  accepted.commitmentAt = commitmentAt;
  accepted.saltAt = saltAt;
  accepted.detailsAt = detailsAt;
  accepted.detailsEnd = end;
  accepted.foreign = scan.foreign;
  return bodyEnd;
}

const QUOTE = 0x22;
/** The lengths of `{"actor":"` and of `,"agent_id":"`. */
const ACTOR_AT = 10;
const AGENT_LEAD = 13;

/** Returns the hash of the agent's id in a canonical text, whose form was not checked yet. */
function agentHashOfBody(text: Uint8Array, start: number, end: number): number {
  let at = start + ACTOR_AT;
  while (at < end && text[at] !== QUOTE) at++;
  return agentHashAt(text, at + AGENT_LEAD, end);
}
