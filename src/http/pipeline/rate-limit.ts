/**
 * A limit of requests per second for each API key. A key that was quiet may send a second's worth at
 * once. Every answer says where its key stands (draft-ietf-httpapi-ratelimit-headers-10).
 */
import { CellRates, type Rate } from "../../cell-rate.ts";
import { Problem } from "../problem.ts";

const SECOND_MS = 1000;

/** Keys remembered at once. */
const MAX_REMEMBERED = 10_000;

/** Headers of an answer about the limit that its request was counted against. */
export interface RateLimitHeaders {
  "ratelimit-policy": string;
  ratelimit: string;
}

export class RateLimit {
  readonly #rate: Rate;
  readonly #rates = new CellRates(MAX_REMEMBERED);
  readonly #policy: string;

  /** `perSecond` is at least 1. */
  constructor(perSecond: number) {
    this.#rate = { burst: perSecond, intervalMs: SECOND_MS / perSecond };
    this.#policy = `"key";q=${perSecond};w=1`;
  }

  /**
   * Counts a request of this key, and gives what its answer is to say: the quota `q` of requests in a
   * window of `w` seconds, how many remain (`r`), and in how many seconds all are there again (`t`).
   * @throws {Problem} `rate_limited` with `Retry-After` when this key sends too fast.
   */
  count(actor: string, nowMs: number): RateLimitHeaders {
    const waitMs = this.#rates.waitMs(actor, this.#rate, nowMs);
    if (waitMs > 0) throw tooFast(waitMs, this.#headers(0));
    this.#rates.take(actor, this.#rate.intervalMs, nowMs);
    return this.#headers(this.#rates.remaining(actor, this.#rate, nowMs));
  }

  /** The window is one second, so every wait is one. */
  #headers(remaining: number): RateLimitHeaders {
    return { "ratelimit-policy": this.#policy, ratelimit: `"key";r=${remaining};t=1` };
  }
}

function tooFast(waitMs: number, headers: RateLimitHeaders): Problem {
  return new Problem("rate_limited", "This key sends more requests than it may. Wait, then go on slower.", {
    headers: { ...headers, "retry-after": String(Math.ceil(waitMs / SECOND_MS)) },
  });
}
