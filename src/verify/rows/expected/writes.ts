/**
 * Writes on the fast path: the key and the digest in their details, found in their bytes without parsing them, and the
 * writes of a part of a log, packed by the thread that verified it for the one that follows the keys.
 */
import { Bytes, copy, enlarged, same } from "../../../log/bytes.ts";
import type { Accepted } from "../../events/fast/known-chains.ts";
import { HASH_CHARS, type Shape } from "../../events/fast/shape.ts";

/** Stands for the end of an entry that does not end by itself. */
export const NEVER = Number.POSITIVE_INFINITY;

/** What is followed of a write besides its key. */
export interface PlainWrite {
  agent_id: string | null;
  config_version: string | null;
  seq: number;
  timeMs: number;
  /** When the entry ends by itself; {@link NEVER} for most. */
  expiresMs: number;
}

/** What a stored row says of the write that it is of. */
export interface StoredWrite {
  seq: number;
  timeMs: number;
  created: number;
  createdMs: number;
  expiresMs: number;
}

/** A key in a text, in UTF-8. */
export interface KeyPlace {
  text: Bytes;
  start: number;
  end: number;
}

const QUOTE = 0x22;
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
  const first = keyStart(start);
  if (last < first || !same(text, start, KEY_START_BYTES, 0, KEY_START.length)) return -1;
  if (!same(text, last, KEY_END_BYTES, 0, KEY_END.length)) return -1;
  // A quote is the end of the key, with another member between it and the digest.
  for (let at = first; at < last; at++) if (text.u8[at] === QUOTE) return -1;
  return last;
}

const FIRST_BYTES = 64 * 1024;

/** Two numbers for each write: in `numbers` seq and time (ms), in `places` its kind and the end of its text. */
export interface PackedWrites {
  count: number;
  numbers: Float64Array<ArrayBuffer>;
  places: Uint32Array<ArrayBuffer>;
  /** Of each write its key, in ASCII, and its digest, hex. */
  bytes: Uint8Array<ArrayBuffer>;
  kinds: Pick<PlainWrite, "agent_id" | "config_version">[];
}

/** Packs allowed writes that the fast path accepted. */
export class WritePacker {
  #count = 0;
  readonly #numbers: Float64Array<ArrayBuffer>;
  readonly #places: Uint32Array<ArrayBuffer>;
  #bytes = new Uint8Array(FIRST_BYTES);
  #text = new Bytes(this.#bytes);
  #end = 0;
  readonly #kinds: PackedWrites["kinds"] = [];
  readonly #kindOf = new Map<Shape, number>();

  /** @param capacity how many there may be */
  constructor(capacity: number) {
    this.#numbers = new Float64Array(2 * capacity);
    this.#places = new Uint32Array(2 * capacity);
  }

  get count(): number {
    return this.#count;
  }

  /** Packs a write; false when its details do not have the usual form. */
  add({ shape, seq, timeMs, foreign, detailsAt, detailsEnd }: Accepted, text: Bytes): boolean {
    const last = foreign ? -1 : keyEnd(text, detailsAt, detailsEnd);
    if (last < 0) return false;
    const first = keyStart(detailsAt);
    const length = last - first;
    if (this.#end + length + HASH_CHARS > this.#bytes.length) this.#grow(length + HASH_CHARS);
    copy(this.#text, this.#end, text, first, length);
    copy(this.#text, this.#end + length, text, digestStart(detailsEnd), HASH_CHARS);
    this.#end += length + HASH_CHARS;
    const at = 2 * this.#count++;
    this.#numbers[at] = seq;
    this.#numbers[at + 1] = timeMs;
    this.#places[at] = this.#kind(shape);
    this.#places[at + 1] = this.#end;
    return true;
  }

  packed(): PackedWrites {
    return { count: this.#count, numbers: this.#numbers, places: this.#places, bytes: this.#bytes, kinds: this.#kinds };
  }

  #kind(shape: Shape): number {
    let kind = this.#kindOf.get(shape);
    if (kind === undefined) {
      const { agent_id, config_version } = shape.event;
      kind = this.#kinds.push({ agent_id, config_version }) - 1;
      this.#kindOf.set(shape, kind);
    }
    return kind;
  }

  #grow(by: number): void {
    this.#bytes = enlarged(this.#bytes, this.#end + by);
    this.#text = new Bytes(this.#bytes);
  }
}
