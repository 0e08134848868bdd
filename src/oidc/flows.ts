/**
 * Sign-ins that wait for the browser to come back from the issuer. Each belongs to the browser that began it, which has
 * its secret in a cookie, and can be finished once.
 */
import type { RandomPool } from "../ids.ts";
import type { Flow } from "./issuer.ts";

/** How long somebody may take at the issuer. */
export const FLOW_MS = 10 * 60_000;
/** The most sign-ins that wait. Beyond them the oldest is forgotten. */
const MAX_FLOWS = 10_000;
const SECRET_BYTES = 24;

/** A sign-in that waits. */
export interface WaitingFlow extends Flow {
  /** The page to open afterwards. */
  next: string;
  /** The account that the identity is linked to; null for signing in. */
  linkTo: string | null;
}

export class Flows {
  readonly #waiting = new Map<string, WaitingFlow & { untilMs: number }>();

  /** `clock` returns milliseconds. It should be monotonic. */
  constructor(
    private readonly random: RandomPool,
    private readonly clock: () => number,
  ) {}

  /** Keeps a sign-in. Returns the secret for the browser. */
  keep(flow: WaitingFlow): string {
    const now = this.clock();
    for (const [secret, { untilMs }] of this.#waiting) {
      if (untilMs > now && this.#waiting.size < MAX_FLOWS) break;
      this.#waiting.delete(secret);
    }
    const secret = Buffer.from(this.random.take(SECRET_BYTES)).toString("base64url");
    this.#waiting.set(secret, { ...flow, untilMs: now + FLOW_MS });
    return secret;
  }

  /** Returns the sign-in of a browser, and forgets it. Null when there is none, or it took too long. */
  take(secret: string | null): WaitingFlow | null {
    const found = secret === null ? undefined : this.#waiting.get(secret);
    if (found === undefined) return null;
    this.#waiting.delete(secret as string);
    return found.untilMs > this.clock() ? found : null;
  }
}
