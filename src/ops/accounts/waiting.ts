/**
 * Keeps state between two requests, such as a sign-in at the issuer or the challenge for a passkey. Whoever has its
 * secret can take it, once.
 */
import type { RandomPool } from "../../ids.ts";
import { makeSecret } from "../directory/secret.ts";

/** How long state is kept, ms. */
export const WAITING_MS = 10 * 60_000;
/** The most that is kept. The oldest is forgotten first. */
const MAX_WAITING = 10_000;

export class Waiting<T> {
  readonly #waiting = new Map<string, { what: T; untilMs: number }>();

  /** `clock` returns milliseconds. It should be monotonic. */
  constructor(
    private readonly random: RandomPool,
    private readonly clock: () => number,
  ) {}

  /** Keeps `what`. Returns its secret, 32 random bytes in base64url. */
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

  /** Returns and forgets what is kept under this secret; null when there is nothing, or it has expired. */
  take(secret: string | null): T | null {
    const found = secret === null ? undefined : this.#waiting.get(secret);
    if (found === undefined) return null;
    this.#waiting.delete(secret as string);
    return found.untilMs > this.clock() ? found.what : null;
  }
}
