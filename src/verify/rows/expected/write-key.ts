/** What is followed of writes, and the key in the details of one or of a deletion: most need no parser. */
import type { JsonObject } from "../../../json.ts";
import { Bytes, same } from "../../../log/bytes.ts";
import { HASH_CHARS } from "../../events/fast/shape.ts";

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
/** Characters behind {@link KEY_END}: the digest and the end of the object. */
const REST = 66;
/** A digest, and what ends the object. */
const DIGEST_REST = /^[0-9a-f]{64}"\}$/;

/** Where the key ends in details of the usual form; -1 in others. */
function usualEnd(details: string): number {
  const end = details.length - REST - KEY_END.length;
  return details.startsWith(KEY_START) && details.startsWith(KEY_END, end) ? end : -1;
}

/** The key in details that are genuine. */
export function keyOf(details: string): string {
  const end = usualEnd(details);
  if (end >= 0 && !details.includes("\\")) return details.slice(KEY_START.length, end);
  return String((JSON.parse(details) as JsonObject).key);
}

/** The digest in details of the usual form, hex; null in others. */
export function digestIn(details: string): string | null {
  if (usualEnd(details) < 0) return null;
  const rest = details.slice(-REST);
  return DIGEST_REST.test(rest) ? rest.slice(0, HASH_CHARS) : null;
}

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
