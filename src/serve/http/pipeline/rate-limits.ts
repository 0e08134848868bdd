/**
 * Limits of requests: per second for each API key and each address, and per minute for addresses that send wrong keys.
 */
import { CellRates, networkOf, type Rate } from "../../../core/cell-rate.ts";
import { Problem } from "../../../problem.ts";

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;

/** How many keys and how many addresses are remembered. */
const MAX_KEYS = 10_000;
const MAX_ADDRESSES = 50_000;

/** The headers of a response about its key's limit (draft-ietf-httpapi-ratelimit-headers-10). */
export type RateLimitHeaders = { "ratelimit-policy": string; ratelimit: string };

/** The limit of each API key. A key that was idle may send a second's worth at once. */
export class RateLimit {
  readonly #rate: Rate;
  readonly #rates = new CellRates(MAX_KEYS);
  readonly #policy: string;

  /** `perSecond` is at least 1. */
  constructor(perSecond: number) {
    this.#rate = { burst: perSecond, intervalMs: SECOND_MS / perSecond };
    this.#policy = `"key";q=${perSecond};w=1`;
  }

  /**
   * Counts a request of this key. Returns the headers for its response: the quota `q` of requests in a window of `w`
   * seconds, how many remain (`r`), and in how many seconds all are available again (`t`).
   * @throws {Problem} `rate_limited` with `Retry-After` when the key sends too fast
   */
  count(actor: string, nowMs: number): RateLimitHeaders {
    const waitMs = this.#rates.waitMs(actor, this.#rate, nowMs);
    if (waitMs > 0) {
      throw rateLimited("This key sends more requests than it may. Wait, then send fewer.", waitMs, this.#headers(0));
    }
    this.#rates.take(actor, this.#rate.intervalMs, nowMs);
    return this.#headers(this.#rates.remaining(actor, this.#rate, nowMs));
  }

  /** The window is one second, so every wait is one second. */
  #headers(remaining: number): RateLimitHeaders {
    return { "ratelimit-policy": this.#policy, ratelimit: `"key";r=${remaining};t=1` };
  }
}

/**
 * The limit of requests with invalid keys from each address. Requests with a valid key never pass here, so nobody can
 * lock out a neighbour behind the same address.
 */
export class WrongKeys {
  readonly #rate: Rate;
  readonly #rates = new CellRates(MAX_ADDRESSES);

  /** `perMinute`, at least 1, is the number of requests that may come at once, and per minute after that. */
  constructor(perMinute: number) {
    this.#rate = { burst: perMinute, intervalMs: MINUTE_MS / perMinute };
  }

  /**
   * Counts a request with a wrong key.
   * @throws {Problem} `rate_limited` with `Retry-After` when there were too many from this address
   */
  count(address: string, nowMs: number): void {
    const network = networkOf(address);
    const waitMs = this.#rates.waitMs(network, this.#rate, nowMs);
    if (waitMs > 0) {
      throw rateLimited(
        "Too many requests with an invalid API key came from this address. A request with a valid key is allowed at once.",
        waitMs,
      );
    }
    this.#rates.take(network, this.#rate.intervalMs, nowMs);
  }
}

/** The limit of all requests from each address. An address that was idle may send a second's worth at once. */
export class AddressRate {
  readonly #rate: Rate;
  readonly #rates = new CellRates(MAX_ADDRESSES);

  /** `perSecond` is at least 1. */
  constructor(perSecond: number) {
    this.#rate = { burst: perSecond, intervalMs: SECOND_MS / perSecond };
  }

  /** Counts a request. @throws {Problem} `rate_limited` with `Retry-After` when too many come from this address */
  count(address: string, nowMs: number): void {
    const network = networkOf(address);
    const waitMs = this.#rates.waitMs(network, this.#rate, nowMs);
    if (waitMs > 0) throw rateLimited("Too many requests come from this address. Wait, then send fewer.", waitMs);
    this.#rates.take(network, this.#rate.intervalMs, nowMs);
  }
}

const rateLimited = (detail: string, waitMs: number, headers: Record<string, string> = {}): Problem =>
  new Problem("rate_limited", detail, { headers, retryAfterSeconds: Math.ceil(waitMs / SECOND_MS) });
