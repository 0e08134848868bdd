/**
 * The generic cell rate algorithm (ITU-T I.371): a bucket lets a number of things through at once, and
 * then one for each interval. It needs one number per bucket: when the things let through so far would
 * all have come, had they come evenly.
 */

/** What one bucket lets through. */
export interface Rate {
  /** Things let through at once. */
  burst: number;
  /** Time until one more is, ms. */
  intervalMs: number;
}

/** Rounding errors of the sum must not cost the last thing of a burst. */
const ROUNDING_MS = 0.001;
/** Part of the buckets that is forgotten at once: going through all of them must stay rare. */
const FORGOTTEN_PART = 0.1;

/** Buckets by name. At most `maxRemembered` are held; past it those that are full again go, then the oldest. */
export class CellRates {
  readonly #maxRemembered: number;
  readonly #due = new Map<string, number>();

  constructor(maxRemembered: number) {
    this.#maxRemembered = maxRemembered;
  }

  /** Time until the bucket lets one more through, ms; 0 for at once. */
  waitMs(name: string, { burst, intervalMs }: Rate, nowMs: number): number {
    const waitMs = this.#dueMs(name, nowMs) + intervalMs - nowMs - burst * intervalMs;
    return waitMs > ROUNDING_MS ? waitMs : 0;
  }

  /** How many more the bucket lets through at once. */
  remaining(name: string, { burst, intervalMs }: Rate, nowMs: number): number {
    const takenMs = this.#dueMs(name, nowMs) - nowMs - ROUNDING_MS;
    return Math.max(0, burst - Math.ceil(Math.max(0, takenMs) / intervalMs));
  }

  /** Takes one thing that takes `intervalMs` from the bucket; a negative time gives one back. */
  take(name: string, intervalMs: number, nowMs: number): void {
    const due = this.#dueMs(name, nowMs) + intervalMs;
    // Taken out and put in again: the map's order is that of last use.
    this.#due.delete(name);
    if (due <= nowMs) return;
    if (this.#due.size >= this.#maxRemembered) this.#forget(nowMs);
    this.#due.set(name, due);
  }

  #dueMs(name: string, nowMs: number): number {
    return Math.max(this.#due.get(name) ?? 0, nowMs);
  }

  #forget(nowMs: number): void {
    for (const [name, due] of this.#due) if (due <= nowMs) this.#due.delete(name);
    const kept = this.#maxRemembered * (1 - FORGOTTEN_PART);
    for (const name of this.#due.keys()) {
      if (this.#due.size < kept) return;
      this.#due.delete(name);
    }
  }
}

/** Groups of an IPv6 address that name a network: whoever has one address there has all of them. */
const NETWORK_GROUPS = 4;

/** Whom an address counts for: itself, or its /64 of IPv6. */
export function networkOf(address: string): string {
  if (!address.includes(":") || address.startsWith("::ffff:")) return address.replace(/^::ffff:/, "");
  const [head = "", tail] = address.split("::");
  const front = head === "" ? [] : head.split(":");
  const back = tail === undefined || tail === "" ? [] : tail.split(":");
  const missing = tail === undefined ? 0 : 8 - front.length - back.length;
  const groups = [...front, ...new Array<string>(Math.max(0, missing)).fill("0"), ...back];
  return `${groups.slice(0, NETWORK_GROUPS).join(":")}::/64`;
}
