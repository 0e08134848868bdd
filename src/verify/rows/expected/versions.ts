/**
 * Versions of keys: their names for sums, and the present versions by slot of a {@link KeyTable}, as numbers and
 * digests in a few arrays.
 */
import { randomBytes } from "node:crypto";
import { SHA256 } from "bun";
import { Bytes, copy, enlarged, isHexOf } from "../../../log/bytes.ts";
import { type Freshness, isFresh } from "../../../screen/retention.ts";
import { HASH_CHARS } from "../../events/fast/text-forms.ts";
import type { StoredLife } from "../entry.ts";
import type { AgentHistory } from "./history.ts";
import { NEVER, type PlainWrite, type StoredWrite } from "./writes.ts";

/** A version of a key. */
export interface Version {
  written: number;
  /** The position of the write, or of the restore that brought it back. */
  from: number;
  timeMs: number;
  created: number;
  createdMs: number;
  /** When it expires, ms; NEVER for most. */
  expiresMs: number;
}

/**
 * Returns the name of a version in a sum: its whole life. The key's beginning is left out if the log does not determine
 * it.
 */
export function nameOf(
  history: AgentHistory,
  key: string,
  { written, from, created }: Pick<Version, "written" | "from" | "created">,
  to: number | null,
): string {
  return `${written} ${from} ${to ?? "-"} ${history.knowsOrigins(from) ? created : "-"} ${key}`;
}

/** Returns the name of a stored row in a sum; null when it is left out, since the log does not determine it. */
export function nameOfRow(history: AgentHistory, row: StoredLife): string | null {
  if (row.updated_at < history.facts.sweptBeforeMs) return null;
  if (row.expires_at !== null && row.expires_at <= history.sweptUntilMs) return null;
  if (history.isUncertain(row.live_from, row.live_to ?? Number.POSITIVE_INFINITY)) return null;
  const version = { written: row.written_seq, from: row.live_from, created: row.created_seq };
  return nameOf(history, row.key, version, row.live_to);
}

const SECRET = randomBytes(32).toString("hex");
/** Each half of the sum is kept below this, so that it stays exact in a double. */
const MODULUS = 2 ** 48;
const HALF_BYTES = 6;

const digest = Buffer.alloc(SHA256.byteLength);

/**
 * Compares two multisets of names without keeping them, by the sum of the names' hashes. The hash is keyed with a
 * secret of this process, so nobody can choose names with equal sums.
 */
export class MultisetPrint {
  #low = 0;
  #high = 0;

  add(name: string): void {
    // No HMAC is needed, since the secret has a fixed length, and no hash is ever shown.
    SHA256.hash(SECRET + name, digest);
    this.#low = (this.#low + digest.readUIntBE(0, HALF_BYTES)) % MODULUS;
    this.#high = (this.#high + digest.readUIntBE(HALF_BYTES, HALF_BYTES)) % MODULUS;
  }

  equals(other: MultisetPrint): boolean {
    return this.#low === other.#low && this.#high === other.#high;
  }
}

/** The names of an agent's versions that must be stored. */
export class ExpectedNames {
  readonly #print = new MultisetPrint();
  /** Versions with an expiry time. Which of them must be stored is known only after the whole log was read. */
  #ending: [expiresMs: number, name: string][] = [];

  add(name: string, expiresMs: number): void {
    if (expiresMs === NEVER) this.#print.add(name);
    else this.#ending.push([expiresMs, name]);
  }

  /** Returns the sum after the last event, without versions that have expired and may have been removed. */
  print(sweptUntilMs: number): MultisetPrint {
    for (const [expiresMs, name] of this.#ending) if (expiresMs > sweptUntilMs) this.#print.add(name);
    this.#ending = [];
    return this.#print;
  }
}

const FIRST_SLOTS = 1_024;
const NUMBERS = 7;
const [WRITTEN, FROM, TIME, CREATED, CREATED_TIME, EXPIRES, FOLLOWED] = [0, 1, 2, 3, 4, 5, 6] as const;
/** Stands for the write of a key without a present version. */
const NONE = -1;

export class PresentVersions {
  #numbers = new Float64Array(NUMBERS * FIRST_SLOTS);
  #met = new Uint8Array(FIRST_SLOTS);
  /** By slot, the digest (hex) of the last write that had one, and the position of that write. */
  #digests = new Bytes(new Uint8Array(FIRST_SLOTS * HASH_CHARS));
  #digestSeqs = new Float64Array(FIRST_SLOTS).fill(NONE);

  /** Begins a slot for a key. @param followed the number of its agent's bulk changes that are applied already */
  begin(slot: number, version: Version, followed: number): void {
    if (slot >= this.#met.length) this.#grow();
    this.set(slot, version);
    this.setFollowed(slot, followed);
    this.#met[slot] = 0;
  }

  has(slot: number): boolean {
    return this.#numbers[NUMBERS * slot + WRITTEN] !== NONE;
  }

  get(slot: number): Version | null {
    if (!this.has(slot)) return null;
    const of = (member: number): number => this.#numbers[NUMBERS * slot + member] as number;
    return {
      written: of(WRITTEN),
      from: of(FROM),
      timeMs: of(TIME),
      created: of(CREATED),
      createdMs: of(CREATED_TIME),
      expiresMs: of(EXPIRES),
    };
  }

  /** Returns the position from which the present version is live. */
  from(slot: number): number {
    return this.#numbers[NUMBERS * slot + FROM] as number;
  }

  /** Whether there is a present version that has not expired. */
  isFresh(slot: number, fresh: Freshness): boolean {
    const at = NUMBERS * slot;
    const numbers = this.#numbers;
    return this.has(slot) && isFresh(numbers[at + TIME] as number, numbers[at + EXPIRES] as number, fresh);
  }

  set(slot: number, { written, from, timeMs, created, createdMs, expiresMs }: Version): void {
    const at = NUMBERS * slot;
    const numbers = this.#numbers;
    numbers[at + WRITTEN] = written;
    numbers[at + FROM] = from;
    numbers[at + TIME] = timeMs;
    numbers[at + CREATED] = created;
    numbers[at + CREATED_TIME] = createdMs;
    numbers[at + EXPIRES] = expiresMs;
  }

  /** Replaces the present version with a write. @param goesOn whether the entry keeps its time of creation */
  overwrite(slot: number, { seq, timeMs, expiresMs }: PlainWrite, goesOn: boolean): void {
    const at = NUMBERS * slot;
    const numbers = this.#numbers;
    numbers[at + WRITTEN] = seq;
    numbers[at + FROM] = seq;
    numbers[at + TIME] = timeMs;
    numbers[at + EXPIRES] = expiresMs;
    if (goesOn) return;
    numbers[at + CREATED] = seq;
    numbers[at + CREATED_TIME] = timeMs;
  }

  clear(slot: number): void {
    this.#numbers[NUMBERS * slot + WRITTEN] = NONE;
  }

  /** Returns the number of its agent's bulk changes that are applied to the key. */
  followed(slot: number): number {
    return this.#numbers[NUMBERS * slot + FOLLOWED] as number;
  }

  setFollowed(slot: number, count: number): void {
    this.#numbers[NUMBERS * slot + FOLLOWED] = count;
  }

  /** Stores the digest of the write `seq`, which is at `at` of a text. */
  setDigest(slot: number, seq: number, text: Bytes, at: number): void {
    copy(this.#digests, slot * HASH_CHARS, text, at, HASH_CHARS);
    this.#digestSeqs[slot] = seq;
  }

  /** Whether the present version is this write with this digest (32 bytes), and is live since the write. */
  isWrite(slot: number, { seq, timeMs, created, createdMs, expiresMs }: StoredWrite, digest: Uint8Array): boolean {
    const at = NUMBERS * slot;
    const numbers = this.#numbers;
    return (
      numbers[at + WRITTEN] === seq &&
      numbers[at + FROM] === seq &&
      numbers[at + TIME] === timeMs &&
      numbers[at + CREATED] === created &&
      numbers[at + CREATED_TIME] === createdMs &&
      numbers[at + EXPIRES] === expiresMs &&
      this.#digestSeqs[slot] === seq &&
      isHexOf(this.#digests, slot * HASH_CHARS, digest)
    );
  }

  /** Marks the stored row of a present version as found. Returns false when it was found before. */
  meet(slot: number): boolean {
    if (this.#met[slot] !== 0) return false;
    this.#met[slot] = 1;
    return true;
  }

  isMet(slot: number): boolean {
    return this.#met[slot] !== 0;
  }

  #grow(): void {
    const slots = this.#met.length;
    this.#numbers = enlarged(this.#numbers);
    this.#met = enlarged(this.#met);
    this.#digests = new Bytes(enlarged(this.#digests.u8));
    this.#digestSeqs = enlarged(this.#digestSeqs).fill(NONE, slots);
  }
}
