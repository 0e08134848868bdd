/**
 * How often a secret may be guessed. Failures are counted in buckets that let so many through at once, and
 * then one for each interval. An attempt takes from its buckets before it is made, so that many at once
 * gain nothing, and gets it back when it succeeds.
 *
 * Nobody can lock another out: a try from a browser that signed in before is counted for that browser
 * alone; and when an account is guessed at from many addresses, each address still has a try an hour, so
 * the right password from its owner's own address gets through.
 */
import { CellRates, type Rate } from "../../cell-rate.ts";
import { networkOf } from "../../network.ts";
import { Refused } from "../refused.ts";

const MINUTE_MS = 60_000;
/** By account and address. */
const PAIR: Rate = { burst: 5, intervalMs: MINUTE_MS };
/** By address, whatever the account. */
const ADDRESS: Rate = { burst: 30, intervalMs: 10_000 };
/** By account, from all addresses together. */
const ACCOUNT: Rate = { burst: 30, intervalMs: MINUTE_MS };
/** By account and address, once the account's own is used up. */
const LAST_CHANCE: Rate = { burst: 1, intervalMs: 60 * MINUTE_MS };
/** By browser that signed in before. */
const DEVICE: Rate = { burst: 10, intervalMs: MINUTE_MS };
/** Codes of a second factor by account: only who knows the password gets here. */
const CODE: Rate = { burst: 10, intervalMs: MINUTE_MS };
/** The password asked for again, by session. */
const AGAIN: Rate = { burst: 5, intervalMs: MINUTE_MS };
/** Signing up without a link, by address; successes count as well. */
const SIGN_UP: Rate = { burst: 10, intervalMs: 10 * MINUTE_MS };

/** Counts that are remembered at once. */
const MAX_REMEMBERED = 50_000;

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
  readonly #rates = new CellRates(MAX_REMEMBERED);

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

  #waitOf(name: string, rate: Rate): number {
    return this.#rates.waitMs(name, rate, this.#clock());
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
    this.#rates.take(name, ms, this.#clock());
  }
}

type Bucket = [name: string, rate: Rate];
