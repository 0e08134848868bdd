/**
 * A limit of requests per second for each API key: the generic cell rate algorithm, which needs one
 * number per key. A key that was quiet may send a second's worth at once.
 */
import { Problem } from "./problem.ts";

const SECOND_MS = 1000;

/** Keys remembered before those that are quiet are forgotten. */
const MAX_REMEMBERED = 10_000;

export class RateLimit {
  readonly #intervalMs: number;
  /** By key: when the requests let through so far would all have come, had they come evenly. */
  readonly #dueMs = new Map<string, number>();

  /** `perSecond` is at least 1. */
  constructor(perSecond: number) {
    this.#intervalMs = SECOND_MS / perSecond;
  }

  /** @throws {Problem} `rate_limited` with `Retry-After` when this key sends too fast. */
  check(actor: string, nowMs: number): void {
    const due = Math.max(this.#dueMs.get(actor) ?? 0, nowMs) + this.#intervalMs;
    const waitMs = due - nowMs - SECOND_MS;
    // Rounding errors of the sum must not cost the last request of a second.
    if (waitMs > this.#intervalMs / 2) {
      throw new Problem(
        "rate_limited",
        "This key sends more requests than it may. Wait, then go on slower.",
        {
          headers: { "retry-after": String(Math.ceil(waitMs / SECOND_MS)) },
        },
      );
    }
    if (this.#dueMs.size >= MAX_REMEMBERED && !this.#dueMs.has(actor)) this.#forgetQuiet(nowMs);
    this.#dueMs.set(actor, due);
  }

  #forgetQuiet(nowMs: number): void {
    for (const [actor, due] of this.#dueMs) if (due <= nowMs) this.#dueMs.delete(actor);
  }
}
