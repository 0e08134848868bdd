/** The writes of a part of a log, packed by the thread that verified it for the one that follows the keys. */
import { Bytes, copy, enlarged } from "../../../log/bytes.ts";
import type { Accepted } from "../../events/fast/known-chains.ts";
import { HASH_CHARS, type Shape } from "../../events/fast/shape.ts";
import type { Replay } from "./replay.ts";
import { digestStart, keyEnd, keyStart, type PlainWrite } from "./write-key.ts";

const FIRST_BYTES = 64 * 1024;

/** Two numbers for each write: in `numbers` seq and time (ms), in `places` its kind and the end of its text. */
export interface PackedWrites {
  count: number;
  numbers: Float64Array<ArrayBuffer>;
  places: Uint32Array<ArrayBuffer>;
  /** Of each write its key, in ASCII, and its digest, hex. */
  bytes: Uint8Array<ArrayBuffer>;
  kinds: Omit<PlainWrite, "seq" | "timeMs">[];
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

/** Follows the writes from number `from` to before number `to`. */
export function followWrites(replay: Replay, writes: PackedWrites, text: Bytes, from: number, to: number): void {
  const { numbers, places, kinds } = writes;
  let start = from === 0 ? 0 : (places[2 * from - 1] as number);
  for (let at = 2 * from; at < 2 * to; at += 2) {
    const { agent_id, config_version } = kinds[places[at] as number] as PackedWrites["kinds"][number];
    const end = places[at + 1] as number;
    const [seq, timeMs] = [numbers[at] as number, numbers[at + 1] as number];
    const digestAt = end - HASH_CHARS;
    replay.addPlainWrite({ agent_id, config_version, seq, timeMs }, text, start, digestAt, digestAt);
    start = end;
  }
}
