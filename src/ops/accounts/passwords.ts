/**
 * Hashes passwords with Argon2id (RFC 9106), with the minimum parameters that OWASP recommends: 19 MiB, two passes,
 * one lane. Hashing runs outside the main thread, with a limit on how many run at once.
 */

import { NO_PASSWORD } from "../../core/rows/access/accounts.ts";
import type { RandomPool } from "../../ids.ts";
import { Problem } from "../../problem.ts";
import { refuseCommonPassword } from "./common-passwords.ts";

/** The lengths of a password, in code points, after normalisation. */
export const PASSWORD_MIN_CHARACTERS = 12;
export const PASSWORD_MAX_CHARACTERS = 1_024;

const OPTIONS = { algorithm: "argon2id", memoryCost: 19_456, timeCost: 2 } as const;
/** The length of a salt and of a hash, bytes. */
const HASH_BYTES = 32;

/** The most hashes that run at once. Each takes a core and its memory for some tens of milliseconds. */
const MAX_AT_ONCE = 2;
/** The most hashes that may wait. More are refused. */
const MAX_WAITING = 64;

/** Normalises characters that keyboards encode differently (required by NIST SP 800-63B section 3.1.1.2). */
const normalised = (password: string): string => password.normalize("NFKC");

export function isPassword(text: string): boolean {
  if (!text.isWellFormed()) return false;
  const { length } = [...normalised(text)];
  return length >= PASSWORD_MIN_CHARACTERS && length <= PASSWORD_MAX_CHARACTERS;
}

export class Passwords {
  #running = 0;
  readonly #waiting: (() => void)[] = [];
  /** A hash that no password matches, so that an unknown account takes as long as a known one. */
  readonly #nobody: string;

  constructor(random: RandomPool) {
    const bytes = () => Buffer.from(random.take(HASH_BYTES)).toString("base64").replace(/=+$/, "");
    const { memoryCost, timeCost } = OPTIONS;
    this.#nobody = `$argon2id$v=19$m=${memoryCost},t=${timeCost},p=1$${bytes()}$${bytes()}`;
  }

  /**
   * Returns the hash of a new password, to be stored.
   * @param param the field of the request that has the password
   * @throws {Problem} `invalid_request` when the password is a common one, `unavailable` when too many hashes wait
   */
  async hash(password: string, email: string, param: string): Promise<string> {
    refuseCommonPassword(password, email, param);
    return this.#inTurn(() => Bun.password.hash(normalised(password), OPTIONS));
  }

  /** Reports whether the password matches. Without a stored hash it takes as long, and returns false. */
  verify(password: string, stored: string | null): Promise<boolean> {
    return this.#inTurn(async () => {
      const isStored = stored !== null && stored !== NO_PASSWORD;
      const right = await Bun.password.verify(normalised(password), isStored ? stored : this.#nobody);
      return right && isStored;
    });
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= MAX_AT_ONCE) {
      if (this.#waiting.length >= MAX_WAITING) {
        throw new Problem("unavailable", "Too many people are signing in. Try again shortly.", {
          retryAfterSeconds: 2,
        });
      }
      // A finished hash hands its place over, so the count stays the same.
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
