/**
 * The newest known heads of the logs of a thread's workspaces, in memory that outlives the thread and is shared with
 * reader threads. They show when a file was replaced by an older one. A slot takes 48 bytes. When there is no free
 * slot, an older head is forgotten, and only the workspace's seal file tells what was recorded.
 */
import type { KnownHead } from "../../core/writer/continuity.ts";

/** The number of workspaces per thread that are remembered. */
const SLOTS = 32_768;
/** The number of slots that are searched for one workspace. */
const PROBES = 8;
/** How often the slots are read when the thread of the workspaces changes them meanwhile. */
const MOST_READS = 1_000;

const KEY_AT = 0;
/** The position of the head plus one, so that 0 is an empty slot. */
const SIZE_AT = 8;
const KNOWN_AT = 16;
const HASH_AT = 24;
/** How much of a hash is stored: its first bytes. */
const HASH_BYTES = 24;
const SLOT_BYTES = 48;

export class KnownHeads {
  readonly #view: DataView;
  readonly #bytes: Uint8Array;
  /**
   * A sequence lock: one number behind the slots, which counts the beginnings and the ends of changes. While it is odd,
   * the slots are being changed.
   */
  readonly #changes: Int32Array;

  constructor(readonly memory = new SharedArrayBuffer(SLOTS * SLOT_BYTES + Int32Array.BYTES_PER_ELEMENT)) {
    this.#view = new DataView(memory);
    this.#bytes = new Uint8Array(memory);
    this.#changes = new Int32Array(memory, SLOTS * SLOT_BYTES, 1);
  }

  /** Returns the known head of a workspace; null when it is not known, or is changed all the time. */
  get(workspaceId: string): KnownHead | null {
    const key = keyOf(workspaceId);
    for (let reads = 0; reads < MOST_READS; reads++) {
      // Adding 0, unlike a load, also keeps the reads before it from being made after it.
      const before = Atomics.add(this.#changes, 0, 0);
      const head = this.#read(key);
      if (before % 2 === 0 && Atomics.add(this.#changes, 0, 0) === before) return head;
    }
    return null;
  }

  #read(key: bigint): KnownHead | null {
    const at = this.#find(key).own;
    if (at === null) return null;
    const hash = Uint8Array.from(this.#bytes.subarray(at + HASH_AT, at + SLOT_BYTES)).toHex();
    return { seq: this.#view.getFloat64(at + SIZE_AT) - 1, hash, knownMs: this.#view.getFloat64(at + KNOWN_AT) };
  }

  /** Changes the known head of a workspace. Only the thread of the workspace does, so no two changes are made at once. */
  set(workspaceId: string, { seq, hash, knownMs }: KnownHead): void {
    const key = keyOf(workspaceId);
    const { own, free } = this.#find(key);
    const at = own ?? free;
    // It is odd already when a thread died in the middle of a change.
    Atomics.or(this.#changes, 0, 1);
    this.#view.setBigUint64(at + KEY_AT, key);
    this.#view.setFloat64(at + SIZE_AT, seq + 1);
    this.#view.setFloat64(at + KNOWN_AT, knownMs);
    this.#bytes.set(Uint8Array.fromHex(hash.slice(0, 2 * HASH_BYTES)), at + HASH_AT);
    Atomics.add(this.#changes, 0, 1);
  }

  /** Returns the offset of a workspace's slot, null if it has none, and the offset of the slot to use then. */
  #find(key: bigint): { own: number | null; free: number } {
    const home = Number(key % BigInt(SLOTS));
    let free = -1;
    for (let i = 0; i < PROBES; i++) {
      const at = ((home + i) % SLOTS) * SLOT_BYTES;
      if (this.#view.getFloat64(at + SIZE_AT) === 0) free = free < 0 ? at : free;
      else if (this.#view.getBigUint64(at + KEY_AT) === key) return { own: at, free: at };
    }
    return { own: null, free: free < 0 ? home * SLOT_BYTES : free };
  }
}

const keyOf = (workspaceId: string): bigint => Bun.hash.wyhash(workspaceId) as bigint;
