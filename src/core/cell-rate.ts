/**
 * Rate limits with the generic cell rate algorithm (ITU-T I.371). A bucket allows a burst of requests, and then one per
 * interval. It needs one number per bucket: the time at which all requests so far would have arrived at an even rate.
 */

/** The limit of one bucket. */
export interface Rate {
  /** How many requests are allowed at once. */
  burst: number;
  /** Time until one more is allowed, ms. */
  intervalMs: number;
}

/** Tolerance for rounding errors, which must not refuse the last request of a burst. */
const ROUNDING_MS = 0.001;
/** The part of the buckets that is removed at once, since scanning all of them must stay rare. */
const FORGOTTEN_PART = 0.1;

/** Buckets by name. Beyond `maxRemembered`, full buckets are removed first, then the least recently used ones. */
export class CellRates {
  readonly #due = new Map<string, number>();

  constructor(private readonly maxRemembered: number) {}

  /** Returns the time until the bucket allows one more request, ms; 0 when it allows one now. */
  waitMs(name: string, { burst, intervalMs }: Rate, nowMs: number): number {
    const waitMs = this.#dueMs(name, nowMs) + intervalMs - nowMs - burst * intervalMs;
    return waitMs > ROUNDING_MS ? waitMs : 0;
  }

  /** Returns how many more requests the bucket allows now. */
  remaining(name: string, { burst, intervalMs }: Rate, nowMs: number): number {
    const takenMs = this.#dueMs(name, nowMs) - nowMs - ROUNDING_MS;
    return Math.max(0, burst - Math.ceil(Math.max(0, takenMs) / intervalMs));
  }

  /** Takes one request of `intervalMs` from the bucket. A negative interval gives a request back. */
  take(name: string, intervalMs: number, nowMs: number): void {
    const due = this.#dueMs(name, nowMs) + intervalMs;
    // Removed and added again, so that the map is ordered by last use.
    this.#due.delete(name);
    if (due <= nowMs) return;
    if (this.#due.size >= this.maxRemembered) this.#forget(nowMs);
    this.#due.set(name, due);
  }

  #dueMs(name: string, nowMs: number): number {
    return Math.max(this.#due.get(name) ?? 0, nowMs);
  }

  #forget(nowMs: number): void {
    for (const [name, due] of this.#due) if (due <= nowMs) this.#due.delete(name);
    const kept = this.maxRemembered * (1 - FORGOTTEN_PART);
    for (const name of this.#due.keys()) {
      if (this.#due.size < kept) return;
      this.#due.delete(name);
    }
  }
}

/** The groups of an IPv6 address that name a network. One user typically has all addresses of a network. */
const NETWORK_GROUPS = 4;

/**
 * Returns the network whose limit the requests of an address count against: the IPv4 address itself, or the /64 of
 * IPv6.
 */
export function networkOf(address: string): string {
  if (!address.includes(":") || address.startsWith("::ffff:")) return address.replace(/^::ffff:/, "");
  const [head = "", tail] = address.split("::");
  const front = head === "" ? [] : head.split(":");
  const back = tail === undefined || tail === "" ? [] : tail.split(":");
  const missing = tail === undefined ? 0 : 8 - front.length - back.length;
  const groups = [...front, ...new Array<string>(Math.max(0, missing)).fill("0"), ...back];
  return `${groups.slice(0, NETWORK_GROUPS).join(":")}::/64`;
}
