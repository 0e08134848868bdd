/**
 * Limits how often a secret may be guessed. Failures are counted in buckets: each allows a burst, and then one
 * attempt per interval. An attempt takes from its buckets before it is made, so concurrent attempts gain nothing. A
 * successful attempt is returned to its buckets.
 *
 * Nobody can lock out another user. An attempt from a browser that signed in before counts for that browser only.
 * When an account is attacked from many addresses, each address still has one attempt per hour, so the owner's
 * correct password from the owner's address is accepted.
 */
import { CellRates, networkOf, type Rate } from "../../core/cell-rate.ts";
import { Problem } from "../../problem.ts";

const MINUTE_MS = 60_000;
/** By account and address. */
const PAIR: Rate = { burst: 5, intervalMs: MINUTE_MS };
/** By address, whatever the account. */
const ADDRESS: Rate = { burst: 30, intervalMs: 10_000 };
/** By account, from all addresses together. */
const ACCOUNT: Rate = { burst: 30, intervalMs: MINUTE_MS };
/** By account and address, once the bucket of the account is empty. */
const LAST_CHANCE: Rate = { burst: 1, intervalMs: 60 * MINUTE_MS };
/** By browser that signed in before. */
const DEVICE: Rate = { burst: 10, intervalMs: MINUTE_MS };
/** Codes of a second factor, by account. Only someone who knows the password gets here. */
const CODE: Rate = { burst: 10, intervalMs: MINUTE_MS };
/** The password asked for again, by session. */
const AGAIN: Rate = { burst: 5, intervalMs: MINUTE_MS };
/** Sign-ups without a link, by address. Successful ones count too. */
const SIGN_UP: Rate = { burst: 10, intervalMs: 10 * MINUTE_MS };

/** The most buckets to remember. */
const MAX_REMEMBERED = 50_000;

/** An attempt that may be made. */
interface Attempt {
  /** The secret was correct, so the attempt does not count. */
  succeeded(): void;
}

export class Attempts {
  readonly #rates = new CellRates(MAX_REMEMBERED);

  /** `clock` returns milliseconds. It should be monotonic. */
  constructor(private readonly clock: () => number) {}

  /**
   * Counts an attempt to sign in. `device` names a device that has signed in to this account before; null for any
   * other.
   * @throws {Problem} `rate_limited`
   */
  signIn({ email, address, device }: { email: string; address: string; device: string | null }): Attempt {
    if (device !== null) return this.#take([[`device ${device}`, DEVICE]]);
    const network = networkOf(address);
    const pair = `${network} ${email}`;
    const account = `account ${email}`;
    const common: Bucket[] = [
      [`address ${network}`, ADDRESS],
      [`pair ${pair}`, PAIR],
    ];
    const open = this.#rates.waitMs(account, ACCOUNT, this.clock()) === 0;
    return this.#take([...common, open ? [account, ACCOUNT] : [`last ${pair}`, LAST_CHANCE]]);
  }

  /** @throws {Problem} `rate_limited` */
  code(accountId: string): Attempt {
    return this.#take([[`code ${accountId}`, CODE]]);
  }

  /** @throws {Problem} `rate_limited` */
  passwordAgain(sessionId: string): Attempt {
    return this.#take([[`again ${sessionId}`, AGAIN]]);
  }

  /** Counts the use of a link's token. @throws {Problem} `rate_limited` */
  link(address: string): Attempt {
    return this.#take([[`address ${networkOf(address)}`, ADDRESS]]);
  }

  /** @throws {Problem} `rate_limited` */
  passkey(address: string): Attempt {
    return this.#take([[`address ${networkOf(address)}`, ADDRESS]]);
  }

  /** Counts a sign-up without a link. @throws {Problem} `rate_limited` */
  openSignUp(address: string): void {
    this.#take([[`sign-up ${networkOf(address)}`, SIGN_UP]]);
  }

  #take(buckets: readonly Bucket[]): Attempt {
    const now = this.clock();
    const waitMs = Math.max(...buckets.map(([name, rate]) => this.#rates.waitMs(name, rate, now)));
    if (waitMs > 0) {
      throw new Problem("rate_limited", "Too many attempts. Wait as long as Retry-After says, then try again.", {
        retryAfterSeconds: Math.ceil(waitMs / 1_000),
      });
    }
    for (const [name, { intervalMs }] of buckets) this.#rates.take(name, intervalMs, now);
    return {
      succeeded: () => {
        for (const [name, { intervalMs }] of buckets) this.#rates.take(name, -intervalMs, this.clock());
      },
    };
  }
}

type Bucket = [name: string, rate: Rate];
