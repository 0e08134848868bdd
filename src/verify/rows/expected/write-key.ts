/** The key and the digest in the details of a write, found in their bytes without parsing them. */
import { Bytes, same } from "../../../log/bytes.ts";

/** What is followed of a write besides its key. */
export interface PlainWrite {
  agent_id: string | null;
  config_version: string | null;
  seq: number;
  timeMs: number;
}

/** What a stored row says of the write that it is of. */
export interface StoredWrite {
  seq: number;
  timeMs: number;
  created: number;
  createdMs: number;
}

/** A key in a text, in UTF-8. */
export interface KeyPlace {
  text: Bytes;
  start: number;
  end: number;
}

const KEY_START = '{"key":"';
const KEY_END = '","value_digest":"';
/** Characters after {@link KEY_END}: the digest and the end of the object. */
const REST = 66;
const KEY_START_BYTES = Bytes.of(KEY_START);
const KEY_END_BYTES = Bytes.of(KEY_END);

/** Where the key begins in details of the usual form that begin at `start`. */
export const keyStart = (start: number): number => start + KEY_START.length;

/** Where the digest begins in details of the usual form that end at `end`. */
export const digestStart = (end: number): number => end - REST;

/** The end of the key in ASCII that is canonical and has no escapes; -1 if it is of another form. */
export function keyEnd(text: Bytes, start: number, end: number): number {
  const last = digestStart(end) - KEY_END.length;
  if (last < keyStart(start) || !same(text, start, KEY_START_BYTES, 0, KEY_START.length)) return -1;
  return same(text, last, KEY_END_BYTES, 0, KEY_END.length) ? last : -1;
}
