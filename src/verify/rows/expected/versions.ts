/** The present version of each key, by its slot in a {@link KeyTable}, as numbers in one piece of memory. */
import type { AgentHistory } from "./history.ts";

/** A version of a key. */
export interface Version {
  written: number;
  /** The write, or the restore that brought it back. */
  from: number;
  timeMs: number;
  created: number;
  createdMs: number;
}

/** What is summed of a version: all of its life. Where a key began is left out where the log cannot say. */
export function nameOf(
  history: AgentHistory,
  key: string,
  { written, from, created }: Pick<Version, "written" | "from" | "created">,
  to: number | null,
): string {
  return `${written} ${from} ${to ?? "-"} ${history.knowsOrigins(from) ? created : "-"} ${key}`;
}

const FIRST_SLOTS = 1_024;
const NUMBERS = 6;
const [WRITTEN, FROM, TIME, CREATED, CREATED_TIME, FOLLOWED] = [0, 1, 2, 3, 4, 5] as const;
/** Stands for the write of a key that has no present version. */
const NONE = -1;

export class PresentVersions {
  #numbers = new Float64Array(NUMBERS * FIRST_SLOTS);
  #met = new Uint8Array(FIRST_SLOTS);

  /** Begins a slot for a key. @param followed how many of its agent's bulk changes are applied already */
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
      ...{ written: of(WRITTEN), from: of(FROM), timeMs: of(TIME) },
      ...{ created: of(CREATED), createdMs: of(CREATED_TIME) },
    };
  }

  /** Since when the present version is live, and when it was written. */
  from(slot: number): number {
    return this.#numbers[NUMBERS * slot + FROM] as number;
  }

  timeMs(slot: number): number {
    return this.#numbers[NUMBERS * slot + TIME] as number;
  }

  set(slot: number, { written, from, timeMs, created, createdMs }: Version): void {
    const at = NUMBERS * slot;
    const numbers = this.#numbers;
    numbers[at + WRITTEN] = written;
    numbers[at + FROM] = from;
    numbers[at + TIME] = timeMs;
    numbers[at + CREATED] = created;
    numbers[at + CREATED_TIME] = createdMs;
  }

  /** Puts a write in the place of the present version, of which there is one or `goesOn` is false. */
  overwrite(slot: number, seq: number, timeMs: number, goesOn: boolean): void {
    const at = NUMBERS * slot;
    const numbers = this.#numbers;
    numbers[at + WRITTEN] = seq;
    numbers[at + FROM] = seq;
    numbers[at + TIME] = timeMs;
    if (goesOn) return;
    numbers[at + CREATED] = seq;
    numbers[at + CREATED_TIME] = timeMs;
  }

  clear(slot: number): void {
    this.#numbers[NUMBERS * slot + WRITTEN] = NONE;
  }

  /** How many of its agent's bulk changes are applied to the key. */
  followed(slot: number): number {
    return this.#numbers[NUMBERS * slot + FOLLOWED] as number;
  }

  setFollowed(slot: number, count: number): void {
    this.#numbers[NUMBERS * slot + FOLLOWED] = count;
  }

  /** Whether the present version was written so, and is live since. */
  isWrite(slot: number, seq: number, timeMs: number, created: number, createdMs: number): boolean {
    const at = NUMBERS * slot;
    const numbers = this.#numbers;
    return (
      numbers[at + WRITTEN] === seq &&
      numbers[at + FROM] === seq &&
      numbers[at + TIME] === timeMs &&
      numbers[at + CREATED] === created &&
      numbers[at + CREATED_TIME] === createdMs
    );
  }

  /** Takes note that the row of a present version was met; false when that was so already. */
  meet(slot: number): boolean {
    if (this.#met[slot] !== 0) return false;
    this.#met[slot] = 1;
    return true;
  }

  isMet(slot: number): boolean {
    return this.#met[slot] !== 0;
  }

  #grow(): void {
    const [numbers, met] = [this.#numbers, this.#met];
    this.#numbers = new Float64Array(2 * numbers.length);
    this.#numbers.set(numbers);
    this.#met = new Uint8Array(2 * met.length);
    this.#met.set(met);
  }
}
