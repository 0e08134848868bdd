/**
 * A limit of requests with keys that are not valid, for each address they come from. A request with a
 * valid key is never looked at here, so nobody can lock out a neighbour behind the same address.
 */
import { CellRates, type Rate } from "../../cell-rate.ts";
import { networkOf } from "../../network.ts";
import { Problem } from "../problem.ts";

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;

/** Addresses remembered at once. */
const MAX_REMEMBERED = 50_000;

export class WrongKeys {
  readonly #rate: Rate;
  readonly #rates = new CellRates(MAX_REMEMBERED);

  /** `perMinute` is at least 1: so many at once, and then as many a minute. */
  constructor(perMinute: number) {
    this.#rate = { burst: perMinute, intervalMs: MINUTE_MS / perMinute };
  }

  /**
   * Counts a request with a wrong key.
   * @throws {Problem} `rate_limited` with `Retry-After` when there were too many from this address.
   */
  count(address: string, nowMs: number): void {
    const network = networkOf(address);
    const waitMs = this.#rates.waitMs(network, this.#rate, nowMs);
    if (waitMs === 0) {
      this.#rates.take(network, this.#rate.intervalMs, nowMs);
      return;
    }
    throw new Problem(
      "rate_limited",
      "Too many requests with an API key that is not valid came from this address. Use a valid key: it is let through at once.",
      { headers: { "retry-after": String(Math.ceil(waitMs / SECOND_MS)) } },
    );
  }
}
