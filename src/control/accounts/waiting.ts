/**
 * What waits for its end in another request: a sign-in at the issuer, a passkey that is asked for. Whoever has its secret can
 * end it, once.
 */
import type { RandomPool } from "../../ids.ts";
import { makeSecret } from "../secret.ts";

/** How long it may take. */
export const WAITING_MS = 10 * 60_000;
/** The most that wait. Beyond them the oldest is forgotten. */
const MAX_WAITING = 10_000;

export class Waiting<T> {
  readonly #waiting = new Map<string, { what: T; untilMs: number }>();

  /** `clock` returns milliseconds. It should be monotonic. */
  constructor(
    private readonly random: RandomPool,
    private readonly clock: () => number,
  ) {}

  /** Keeps something. Returns its secret, 32 random bytes in base64url. */
  keep(what: T): string {
    const now = this.clock();
    for (const [secret, { untilMs }] of this.#waiting) {
      if (untilMs > now && this.#waiting.size < MAX_WAITING) break;
      this.#waiting.delete(secret);
    }
    const { text } = makeSecret(this.random);
    this.#waiting.set(text, { what, untilMs: now + WAITING_MS });
    return text;
  }

  /** Returns what has this secret, and forgets it. Null when there is nothing, or it took too long. */
  take(secret: string | null): T | null {
    const found = secret === null ? undefined : this.#waiting.get(secret);
    if (found === undefined) return null;
    this.#waiting.delete(secret as string);
    return found.untilMs > this.clock() ? found.what : null;
  }
}
