/** The fast path for an event of an export that has exactly the text of this format's own writer. */
import { Bytes, copy, numberEnd, same } from "../../../log/bytes.ts";
import { UNSURE } from "../../../log/canonical-scan.ts";
import { SALT_BYTES } from "../../../log/hash.ts";
import { agentHashAt, type EventPosition, type KnownChains } from "./known-chains.ts";
import { Draft, type Shape } from "./shape.ts";
import { HASH_CHARS, ID_CHARS, isEventId, TIME_CHARS } from "./text-forms.ts";

/** The beginning of an event: on a line of ndjson, and in json. */
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
/** The length from the end of seq to the value of agent_id. */
const TO_AGENT = ',"workspace_id":"ws_","agent_id":'.length + ID_CHARS;
const SALT_CHARS = 2 * SALT_BYTES;
const OPEN_BRACE = 0x7b;

function endOf(literal: Bytes, text: Bytes, at: number): number {
  return same(text, at, literal, 0, literal.u8.length) ? at + literal.u8.length : UNSURE;
}

/**
 * Accepts the bytes from `start` to `end` if they are a valid event in its place. It then sets `leaf` to the event's
 * hash, and `known.accepted` to its facts. False does not mean that the event is not valid. The text is unchanged in
 * either case.
 */
export function takeShown(
  known: KnownChains,
  text: Bytes,
  { start, end }: { start: number; end: number },
  lead: Bytes,
  place: EventPosition,
  leaf: Uint8Array,
): boolean {
  const idAt = endOf(lead, text, start);
  if (idAt === UNSURE) return false;
  const seqAt = endOf(SEQ, text, idAt + ID_CHARS);
  if (seqAt === UNSURE) return false;
  const seq = place.gaps ? seqFrom(text.u8, seqAt, place.seq) : place.seq;
  const seqEnd = numberEnd(text.u8, seqAt, seq);
  if (seqEnd === UNSURE || !isEventId(text.u8, idAt, seq)) return false;
  const chain = known.find(agentHashAt(text.u8, seqEnd + TO_AGENT, end));
  if (chain === undefined) return false;
  for (let index = 0; index < chain.shapes.length; index++) {
    const shape = chain.shapes[index] as Shape;
    const agentSeqAt = shape.shown.endAt(0, text, seqEnd);
    if (agentSeqAt < 0) continue;
    const agentSeqEnd = numberEnd(text.u8, agentSeqAt, chain.agentSeq + 1);
    if (agentSeqEnd < 0) return false;
    const timeAt = shape.shown.endAt(1, text, agentSeqEnd);
    if (timeAt < 0) continue;
    if (!known.time.fits(text, timeAt) || !findRest(known, shape, text, timeAt + TIME_CHARS, end)) return false;
    const { accepted } = known;
    if (accepted.erased && !shape.erasable) return false;
    accepted.seq = seq;
    accepted.timeMs = known.time.ms(text, timeAt);
    const draft = spareOf(shape, agentSeqEnd - agentSeqAt, seqEnd - seqAt);
    copy(draft.bytes, draft.idAt, text, idAt, ID_CHARS);
    copy(draft.bytes, draft.seqAt, text, seqAt, draft.seqDigits);
    copy(draft.bytes, draft.agentSeqAt, text, agentSeqAt, draft.agentSeqDigits);
    copy(draft.bytes, draft.timeAt, text, timeAt, TIME_CHARS);
    copy(draft.bytes, draft.commitmentAt, text, accepted.commitmentAt, HASH_CHARS);
    copy(draft.bytes, draft.linkAt, text, accepted.linkAt, HASH_CHARS);
    if (!known.accept(chain, index, text, draft.bytes, 1, draft.bytes.u8.length, leaf)) return false;
    shape.spare = shape.draft;
    shape.draft = draft;
    return true;
  }
  return false;
}

/** Finds the details and hashes, which follow the time. Returns false when they are malformed. */
function findRest(
  { accepted, scan, policies }: KnownChains,
  { details }: Shape,
  text: Bytes,
  at: number,
  end: number,
): boolean {
  const detailsAt = endOf(DETAILS, text, at);
  if (detailsAt === UNSURE) return false;
  const erased = text.u8[detailsAt] !== OPEN_BRACE;
  const detailsEnd = erased ? detailsAt : details.end(scan, text, detailsAt, policies);
  if (detailsEnd === UNSURE) return false;
  const saltAt = erased ? detailsAt : endOf(SALT, text, detailsEnd);
  if (saltAt === UNSURE) return false;
  const commitmentAt = erased ? endOf(ERASED, text, detailsAt) : endOf(COMMITMENT, text, saltAt + SALT_CHARS);
  if (commitmentAt === UNSURE) return false;
  const linkAt = endOf(LINK, text, commitmentAt + HASH_CHARS);
  if (linkAt === UNSURE) return false;
  const hashAt = endOf(HASH, text, linkAt + HASH_CHARS);
  if (hashAt === UNSURE || endOf(END, text, hashAt + HASH_CHARS) !== end) return false;
  accepted.erased = erased;
  accepted.hashAt = hashAt;
  accepted.linkAt = linkAt;
  accepted.commitmentAt = commitmentAt;
  accepted.saltAt = saltAt;
  accepted.detailsAt = detailsAt;
  accepted.detailsEnd = detailsEnd;
  accepted.foreign = !erased && scan.foreign;
  return true;
}

/** Returns a draft for numbers of that length, other than the draft with the text of the last accepted event. */
function spareOf(shape: Shape, agentSeqDigits: number, seqDigits: number): Draft {
  const { spare } = shape;
  if (spare?.agentSeqDigits === agentSeqDigits && spare.seqDigits === seqDigits) return spare;
  shape.spare = new Draft(shape, agentSeqDigits, seqDigits);
  return shape.spare;
}

/** Returns the number at `at` if it is at least `least`; otherwise `least`, which then does not match the text. */
function seqFrom(text: Uint8Array, at: number, least: number): number {
  let value = 0;
  for (let place = at; place < at + 15; place++) {
    const digit = (text[place] as number) - 0x30;
    if (!(digit >= 0 && digit <= 9)) break;
    value = value * 10 + digit;
  }
  return Math.max(value, least);
}
