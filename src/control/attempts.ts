/**
 * How often a secret may be guessed. Failures are counted, by the generic cell rate algorithm: a bucket
 * lets so many through at once, and then one for each interval. An attempt takes from its buckets before
 * it is made, so that many at once gain nothing, and gets it back when it succeeds.
 *
 * Nobody can lock another out: a try from a browser that signed in before is counted for that browser
 * alone; and when an account is guessed at from many addresses, each address still has a try an hour, so
 * the right password from its owner's own address gets through.
 */
import { Refused } from "./refused.ts";

interface Limit {
  /** Failures let through at once. */
  burst: number;
  /** Time until one more is. */
  intervalMs: number;
}

const MINUTE_MS = 60_000;
/** By account and address. */
const PAIR: Limit = { burst: 5, intervalMs: MINUTE_MS };
/** By address, whatever the account. */
const ADDRESS: Limit = { burst: 30, intervalMs: 10_000 };
/** By account, from all addresses together. */
const ACCOUNT: Limit = { burst: 30, intervalMs: MINUTE_MS };
/** By account and address, once the account's own is used up. */
const LAST_CHANCE: Limit = { burst: 1, intervalMs: 60 * MINUTE_MS };
/** By browser that signed in before. */
const DEVICE: Limit = { burst: 10, intervalMs: MINUTE_MS };
/** Codes of a second factor by account: only who knows the password gets here. */
const CODE: Limit = { burst: 10, intervalMs: MINUTE_MS };
/** The password asked for again, by session. */
const AGAIN: Limit = { burst: 5, intervalMs: MINUTE_MS };
/** Signing up without a link, by address; successes count as well. */
const SIGN_UP: Limit = { burst: 10, intervalMs: 10 * MINUTE_MS };

/** Counts that are remembered at once; past it those that are over are forgotten, then the oldest. */
const MAX_REMEMBERED = 50_000;
/** Room that forgetting makes: going through all of them must stay rare. */
const FORGOTTEN_AT_ONCE = 5_000;

/** An attempt that may be made. */
export interface Attempt {
  /** It was the right secret: it counts as none. */
  succeeded(): void;
}

/** Whose sign-in is tried, from where. */
export interface SignInTry {
  email: string;
  address: string;
  /** Name of a device that signed in to this very account before; null for any other. */
  device: string | null;
}

export class Attempts {
  readonly #clock: () => number;
  /** By name of the bucket: when the failures so far would all have come, had they come evenly. */
  readonly #due = new Map<string, number>();

  /** `clock` in milliseconds; a monotonic one is best. */
  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** @throws {Refused} `rate_limited` */
  signIn({ email, address, device }: SignInTry): Attempt {
    if (device !== null) return this.#take([[`device ${device}`, DEVICE]]);
    const network = networkOf(address);
    const pair = `${network} ${email}`;
    const account = `account ${email}`;
    const common: Bucket[] = [
      [`address ${network}`, ADDRESS],
      [`pair ${pair}`, PAIR],
    ];
    const open = this.#waitOf(account, ACCOUNT) === 0;
    return this.#take([...common, open ? [account, ACCOUNT] : [`last ${pair}`, LAST_CHANCE]]);
  }

  /** @throws {Refused} `rate_limited` */
  code(accountId: string): Attempt {
    return this.#take([[`code ${accountId}`, CODE]]);
  }

  /** @throws {Refused} `rate_limited` */
  passwordAgain(sessionId: string): Attempt {
    return this.#take([[`again ${sessionId}`, AGAIN]]);
  }

  /** A link's token, or a sign-up with one. @throws {Refused} `rate_limited` */
  link(address: string): Attempt {
    return this.#take([[`address ${networkOf(address)}`, ADDRESS]]);
  }

  /** A sign-up without a link. @throws {Refused} `rate_limited` */
  openSignUp(address: string): void {
    this.#take([[`sign-up ${networkOf(address)}`, SIGN_UP]]);
  }

  #waitOf(name: string, { burst, intervalMs }: Limit): number {
    const now = this.#clock();
    const due = Math.max(this.#due.get(name) ?? 0, now) + intervalMs;
    return Math.max(0, due - now - burst * intervalMs);
  }

  #take(buckets: readonly Bucket[]): Attempt {
    const waitMs = Math.max(...buckets.map(([name, limit]) => this.#waitOf(name, limit)));
    if (waitMs > 0) {
      throw new Refused("rate_limited", "Too many tries. Wait as long as Retry-After says, then try again.", {
        retryAfterSeconds: Math.ceil(waitMs / 1_000),
      });
    }
    for (const [name, { intervalMs }] of buckets) this.#move(name, intervalMs);
    return {
      succeeded: () => {
        for (const [name, { intervalMs }] of buckets) this.#move(name, -intervalMs);
      },
    };
  }

  #move(name: string, ms: number): void {
    const now = this.#clock();
    const due = Math.max(this.#due.get(name) ?? 0, now) + ms;
    // Taken out and put in again: the map's order is that of last use.
    this.#due.delete(name);
    if (due <= now) return;
    if (this.#due.size >= MAX_REMEMBERED) this.#forget(now);
    this.#due.set(name, due);
  }

  #forget(now: number): void {
    for (const [name, due] of this.#due) if (due <= now) this.#due.delete(name);
    for (const name of this.#due.keys()) {
      if (this.#due.size < MAX_REMEMBERED - FORGOTTEN_AT_ONCE) return;
      this.#due.delete(name);
    }
  }
}

type Bucket = [name: string, limit: Limit];

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
