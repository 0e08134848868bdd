/**
 * Passwords as Argon2id (RFC 9106), with the parameters that OWASP names as the least: 19 MiB, two
 * passes, one lane. Hashing runs beside the main thread, a bounded number at once.
 */
import type { RandomPool } from "../../ids.ts";
import { Refused } from "../refused.ts";
import { makeSecret } from "../secret.ts";

/** In characters (code points), after normalisation. */
export const PASSWORD_MIN_CHARACTERS = 12;
export const PASSWORD_MAX_CHARACTERS = 1_024;

const OPTIONS = { algorithm: "argon2id", memoryCost: 19_456, timeCost: 2 } as const;

/** Hashes under way at once: each takes a core and its memory for some tens of milliseconds. */
const MAX_AT_ONCE = 2;
/** Those that may wait for their turn; past it is overload. */
const MAX_WAITING = 64;

/** One form for what keyboards write differently (NIST SP 800-63B section 3.1.1.2 asks for it). */
const normalised = (password: string): string => password.normalize("NFKC");

export function isPassword(text: string): boolean {
  if (!text.isWellFormed()) return false;
  const { length } = [...normalised(text)];
  return length >= PASSWORD_MIN_CHARACTERS && length <= PASSWORD_MAX_CHARACTERS;
}

export class Passwords {
  #running = 0;
  readonly #waiting: (() => void)[] = [];
  /** The hash of nobody's password: an account that does not exist costs the time of one that does. */
  readonly #nobody: Promise<string>;

  constructor(random: RandomPool) {
    this.#nobody = Bun.password.hash(makeSecret(random).text, OPTIONS);
  }

  /** The text to store. @throws {Refused} `unavailable` when too many wait. */
  hash(password: string): Promise<string> {
    return this.#inTurn(() => Bun.password.hash(normalised(password), OPTIONS));
  }

  /** Whether it is the password; never, and as slowly, when there is none (null). */
  verify(password: string, stored: string | null): Promise<boolean> {
    return this.#inTurn(async () => {
      const right = await Bun.password.verify(normalised(password), stored ?? (await this.#nobody));
      return right && stored !== null;
    });
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= MAX_AT_ONCE) {
      if (this.#waiting.length >= MAX_WAITING) {
        throw new Refused("unavailable", "Too many people sign in just now. Try again shortly.", {
          retryAfterSeconds: 2,
        });
      }
      // Whoever ends hands its place over, so the count stays.
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else {
      this.#running += 1;
    }
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }
}
