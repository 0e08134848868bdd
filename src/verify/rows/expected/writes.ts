/**
 * Writes on the fast path: finds the key and the digest in the bytes of their details without parsing them, and packs
 * the writes of a part of a log, from the thread that verifies it to the thread that follows the keys.
 */

import { momentOf } from "../../../details.ts";
import { Bytes, copy, enlarged, same } from "../../../log/bytes.ts";
import type { Accepted } from "../../events/fast/known-chains.ts";
import type { Shape } from "../../events/fast/shape.ts";
import { HASH_CHARS, TIME_CHARS, TimeForm } from "../../events/fast/text-forms.ts";

/** Stands for the expiry time of an entry that does not expire. */
export const NEVER = Number.POSITIVE_INFINITY;

/** The facts of a write that are followed, besides its key. */
export interface PlainWrite {
  agent_id: string | null;
  config_version: string | null;
  seq: number;
  timeMs: number;
  /** When the entry expires, ms; {@link NEVER} for most. */
  expiresMs: number;
}

/** The facts in a stored row about its write. */
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
const KEY_START = Bytes.of('{"key":"');
const EXPIRES_START = Bytes.of('{"expires_at":"');
const KEY_START_AFTER_EXPIRES = Bytes.of('","key":"');
const KEY_END = Bytes.of('","value_digest":"');
/** Characters after {@link KEY_END}: the digest and the end of the object. */
const REST = 66;

/** Whether a piece is at `at` of a text. */
const has = (text: Bytes, at: number, piece: Bytes): boolean => same(text, at, piece, 0, piece.u8.length);

/**
 * The places of the parts of a write's details in the usual form: with a key in ASCII, and only the members that prove.
 */
export class UsualDetails {
  keyAt = 0;
  keyEnd = 0;
  digestAt = 0;
  /** When the entry expires, ms; {@link NEVER} for most. */
  expiresMs = NEVER;
  readonly #time = new TimeForm();

  /** Reads canonical details without escapes. Returns false when they have another form. */
  read(text: Bytes, start: number, end: number): boolean {
    this.digestAt = end - REST;
    this.keyEnd = this.digestAt - KEY_END.u8.length;
    if (this.keyEnd < start || !has(text, this.keyEnd, KEY_END) || !this.#readStart(text, start)) return false;
    // A quote would end the key before, so there is another member between the key and the digest.
    for (let at = this.keyAt; at < this.keyEnd; at++) if (text.u8[at] === QUOTE) return false;
    return this.keyEnd >= this.keyAt;
  }

  #readStart(text: Bytes, start: number): boolean {
    if (has(text, start, KEY_START)) {
      this.keyAt = start + KEY_START.u8.length;
      this.expiresMs = NEVER;
      return true;
    }
    const timeAt = start + EXPIRES_START.u8.length;
    const timeEnd = timeAt + TIME_CHARS;
    this.keyAt = timeEnd + KEY_START_AFTER_EXPIRES.u8.length;
    if (!has(text, start, EXPIRES_START) || !has(text, timeEnd, KEY_START_AFTER_EXPIRES)) return false;
    if (!this.#time.fits(text, timeAt)) {
      const time = text.ascii(timeAt, timeEnd);
      if (momentOf(time) === undefined) return false;
      this.#time.learn(time);
    }
    this.expiresMs = this.#time.ms(text, timeAt);
    return true;
  }
}

const FIRST_BYTES = 64 * 1024;

/** The numbers of a write in `numbers`: seq, its time and the expiry time of its entry, ms. */
const WRITE_NUMBERS = 3;

/**
 * Packed writes. Each has {@link WRITE_NUMBERS} in `numbers`, and two in `places`: its kind, and the end of its text.
 */
export interface PackedWrites {
  count: number;
  numbers: Float64Array<ArrayBuffer>;
  places: Uint32Array<ArrayBuffer>;
  /** For each write, its key in ASCII, and its digest in hex. */
  bytes: Uint8Array<ArrayBuffer>;
  kinds: Pick<PlainWrite, "agent_id" | "config_version">[];
}

/** Returns packed write number `index`, without its key and digest. */
export function packedWrite({ numbers, places, kinds }: PackedWrites, index: number): PlainWrite {
  const { agent_id, config_version } = kinds[places[2 * index] as number] as PackedWrites["kinds"][number];
  const at = WRITE_NUMBERS * index;
  const [seq, timeMs, expiresMs] = [numbers[at] as number, numbers[at + 1] as number, numbers[at + 2] as number];
  return { agent_id, config_version, seq, timeMs, expiresMs };
}

/** Returns where the key and digest of packed write number `index` end in the bytes. */
export const packedEnd = ({ places }: PackedWrites, index: number): number => places[2 * index + 1] as number;

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
  readonly #details = new UsualDetails();

  /** @param capacity the most writes */
  constructor(capacity: number) {
    this.#numbers = new Float64Array(WRITE_NUMBERS * capacity);
    this.#places = new Uint32Array(2 * capacity);
  }

  get count(): number {
    return this.#count;
  }

  /** Packs a write. Returns false when its details do not have the usual form. */
  add({ shape, seq, timeMs, foreign, detailsAt, detailsEnd }: Accepted, text: Bytes): boolean {
    const details = this.#details;
    if (foreign || !details.read(text, detailsAt, detailsEnd)) return false;
    const length = details.keyEnd - details.keyAt;
    if (this.#end + length + HASH_CHARS > this.#bytes.length) this.#grow(length + HASH_CHARS);
    copy(this.#text, this.#end, text, details.keyAt, length);
    copy(this.#text, this.#end + length, text, details.digestAt, HASH_CHARS);
    this.#end += length + HASH_CHARS;
    const at = WRITE_NUMBERS * this.#count;
    this.#numbers[at] = seq;
    this.#numbers[at + 1] = timeMs;
    this.#numbers[at + 2] = details.expiresMs;
    this.#places[2 * this.#count] = this.#kind(shape);
    this.#places[2 * this.#count + 1] = this.#end;
    this.#count += 1;
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
