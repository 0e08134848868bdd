/**
 * An event of an export (present.ts), if nothing is to be said of it: verified on its bytes, exactly as
 * this format's own writer writes them, without an object made of it.
 */
import { SHA256 } from "bun";
import { Bytes, copy, isHex, isHexOf, numberEnd, readHex, same } from "../../../log/bytes.ts";
import { UNSURE } from "../../../log/canonical-scan.ts";
import { SALT_BYTES } from "../../../log/hash.ts";
import { agentHash, type KnownChain, type KnownChains, type Place } from "./known-chains.ts";
import { Draft, HASH_CHARS, ID_CHARS, isTypeId, type Shape, TIME_CHARS } from "./shape.ts";

/** What an event begins with: on a line of ndjson, and in json. */
export const LINE_LEAD = Bytes.of('{"type":"event","id":"aud_');
export const ELEMENT_LEAD = Bytes.of('{"id":"aud_');

const SEQ = Bytes.of('","seq":');
const DETAILS = Bytes.of('","details":');
const SALT = Bytes.of(',"details_salt":"');
const ERASED = Bytes.of('null,"details_salt":null,"details_commitment":"');
const COMMITMENT = Bytes.of('","details_commitment":"');
const LINK = Bytes.of('","previous_hash":"');
const HASH = Bytes.of('","hash":"');
const END = Bytes.of('","format":"governd.audit/1"}');
/** From the end of seq to the value of agent_id. */
const TO_AGENT = ',"workspace_id":"ws_","agent_id":'.length + ID_CHARS;
const SALT_CHARS = 2 * SALT_BYTES;
const OPEN_BRACE = 0x7b;
const QUOTE = 0x22;

function endOf(literal: Bytes, text: Bytes, at: number): number {
  return same(text, at, literal, 0, literal.u8.length) ? at + literal.u8.length : UNSURE;
}

/**
 * True when the bytes from `start` to `end` are an event, as it should be and where it should be: then it is
 * counted, `leaf` is its hash, and `known.accepted` says what it is. False says nothing, and leaves the text
 * as it was.
 */
export function takeShown(
  known: KnownChains,
  text: Bytes,
  { start, end }: { start: number; end: number },
  lead: Bytes,
  place: Place,
  leaf: Uint8Array,
): boolean {
  const idAt = endOf(lead, text, start);
  if (idAt === UNSURE || !isTypeId(text.u8, idAt)) return false;
  const seqAt = endOf(SEQ, text, idAt + ID_CHARS);
  if (seqAt === UNSURE) return false;
  const seq = place.gaps ? seqFrom(text.u8, seqAt, place.seq) : place.seq;
  const seqEnd = numberEnd(text.u8, seqAt, seq);
  if (seqEnd === UNSURE) return false;
  const chain = known.find(agentHashAt(text.u8, seqEnd + TO_AGENT));
  if (chain === undefined) return false;
  for (let index = 0; index < chain.shapes.length; index++) {
    const shape = chain.shapes[index] as Shape;
    const agentSeqAt = shape.shown.endAt(0, text, seqEnd);
    if (agentSeqAt < 0) continue;
    const agentSeqEnd = numberEnd(text.u8, agentSeqAt, chain.agentSeq + 1);
    if (agentSeqEnd < 0) return false;
    const timeAt = shape.shown.endAt(1, text, agentSeqEnd);
    if (timeAt < 0) continue;
    if (!known.time.fits(text, timeAt)) return false;
    const draft = spareOf(shape, agentSeqEnd - agentSeqAt, seqEnd - seqAt);
    copy(draft.bytes, draft.idAt, text, idAt, ID_CHARS);
    copy(draft.bytes, draft.seqAt, text, seqAt, draft.seqDigits);
    copy(draft.bytes, draft.agentSeqAt, text, agentSeqAt, draft.agentSeqDigits);
    copy(draft.bytes, draft.timeAt, text, timeAt, TIME_CHARS);
    if (!isRestGood(known, text, timeAt + TIME_CHARS, end, chain, draft, leaf)) return false;
    const { accepted } = known;
    accepted.shape = shape;
    accepted.seq = seq;
    shape.spare = shape.draft;
    shape.draft = draft;
    known.accept(chain, index, draft.bytes, 1, draft.bytes.u8.length);
    return true;
  }
  return false;
}

/** What follows the time: details and hashes. */
function isRestGood(
  known: KnownChains,
  text: Bytes,
  at: number,
  end: number,
  chain: KnownChain,
  draft: Draft,
  leaf: Uint8Array,
): boolean {
  const detailsAt = endOf(DETAILS, text, at);
  if (detailsAt === UNSURE) return false;
  const erased = text.u8[detailsAt] !== OPEN_BRACE;
  const detailsEnd = erased ? detailsAt : known.scan.objectEnd(text.u8, detailsAt);
  if (detailsEnd === UNSURE) return false;
  const saltAt = erased ? detailsAt : endOf(SALT, text, detailsEnd);
  if (saltAt === UNSURE) return false;
  const commitmentAt = erased ? endOf(ERASED, text, detailsAt) : endOf(COMMITMENT, text, saltAt + SALT_CHARS);
  if (commitmentAt === UNSURE) return false;
  const linkAt = endOf(LINK, text, commitmentAt + HASH_CHARS);
  if (linkAt === UNSURE || !same(text, linkAt, chain.hash, 0, HASH_CHARS)) return false;
  const hashAt = endOf(HASH, text, linkAt + HASH_CHARS);
  if (hashAt === UNSURE) return false;
  if (endOf(END, text, hashAt + HASH_CHARS) !== end) return false;
  copy(draft.bytes, draft.commitmentAt, text, commitmentAt, HASH_CHARS);
  copy(draft.bytes, draft.linkAt, text, linkAt, HASH_CHARS);
  SHA256.hash(draft.bytes.u8, leaf);
  if (!isHexOf(text, hashAt, leaf)) return false;
  const committed = erased
    ? isHex(text.u8, commitmentAt, HASH_CHARS)
    : isCommitted(known, text, { detailsAt, detailsEnd, saltAt, commitmentAt }, draft);
  if (!committed) return false;
  copy(chain.hash, 0, text, hashAt, HASH_CHARS);
  known.accepted.erased = erased;
  return true;
}

/**
 * Whether details and salt are what was committed to. The salt is put in front of the details for that, over
 * what stands there and is checked already, which is put back.
 */
function isCommitted(
  known: KnownChains,
  text: Bytes,
  at: { detailsAt: number; detailsEnd: number; saltAt: number; commitmentAt: number },
  draft: Draft,
): boolean {
  const from = at.detailsAt - SALT_BYTES;
  if (!readHex(text.u8, at.saltAt, known.salt.u8, 0, SALT_BYTES)) return false;
  copy(text, from, known.salt, 0, SALT_BYTES);
  SHA256.hash(text.u8.subarray(from, at.detailsEnd), known.digest);
  const timeAt = at.detailsAt - DETAILS.u8.length - TIME_CHARS;
  copy(text, timeAt, draft.bytes, draft.timeAt, TIME_CHARS);
  copy(text, timeAt + TIME_CHARS, DETAILS, 0, DETAILS.u8.length);
  return isHexOf(text, at.commitmentAt, known.digest);
}

/** A draft for numbers of that length which is not the text of the last accepted event. */
function spareOf(shape: Shape, agentSeqDigits: number, seqDigits: number): Draft {
  const { spare } = shape;
  if (spare?.agentSeqDigits === agentSeqDigits && spare.seqDigits === seqDigits) return spare;
  shape.spare = new Draft(shape, agentSeqDigits, seqDigits);
  return shape.spare;
}

function agentHashAt(text: Uint8Array, at: number): number {
  if (text[at] !== QUOTE) return agentHash(text, at, at);
  let end = at + 1;
  while (end < text.length && text[end] !== QUOTE) end++;
  return agentHash(text, at + 1, end);
}

/** The number at `at` when it is at least `least`; otherwise `least`, which it then is not. */
function seqFrom(text: Uint8Array, at: number, least: number): number {
  let value = 0;
  for (let place = at; place < at + 15; place++) {
    const digit = (text[place] as number) - 0x30;
    if (!(digit >= 0 && digit <= 9)) break;
    value = value * 10 + digit;
  }
  return Math.max(value, least);
}
