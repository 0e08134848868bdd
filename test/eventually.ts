/** Waits for a condition instead of a time, so that tests also pass on a slow machine. */
import { PATIENCE_MS } from "./patience.ts";

const LOOK_EVERY_MS = 10;
/** The most time that counts between two tries, ms: while a virtual machine is paused, nothing can happen. */
const LONGEST_COUNTED_MS = 1_000;
/** The pause after a try that takes processor time from what is waited for: this share of the time waited so far. */
const PAUSE_SHARE = 1 / 10;
/** The longest such pause, ms: between two looks at a condition that has to ask, and between two assertions. */
const LONGEST_LOOK_MS = 50;
const LONGEST_PAUSE_MS = 200;

/** Counts how long a test has waited. */
class Waited {
  ms = 0;
  #lookedMs = performance.now();

  /** Counts the time since the last try. Returns whether the test has waited too long. */
  isTooLong(): boolean {
    const nowMs = performance.now();
    this.ms += Math.min(nowMs - this.#lookedMs, LONGEST_COUNTED_MS);
    this.#lookedMs = nowMs;
    return this.ms > PATIENCE_MS;
  }

  /** The pause until the next try, ms, when a try costs something. */
  pauseMs(longest: number): number {
    return Math.min(longest, Math.max(LOOK_EVERY_MS, this.ms * PAUSE_SHARE));
  }
}

/**
 * Resolves when the condition holds.
 * @throws {Error} naming `what`, when the condition stays false for `PATIENCE_MS`
 */
export async function eventually(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const waited = new Waited();
  for (;;) {
    const holds = condition();
    if (await holds) return;
    if (waited.isTooLong()) throw new Error(`it did not come to that: ${what}`);
    await Bun.sleep(holds === false ? LOOK_EVERY_MS : waited.pauseMs(LONGEST_LOOK_MS));
  }
}

/**
 * Repeats an assertion until it holds, for what a page shows shortly after an act: `await soon(async () =>
 * expect(await rows.count()).toBe(1))`.
 * @throws {Error} the assertion's last one, when it does not hold within `PATIENCE_MS`
 */
export async function soon(assertion: () => Promise<unknown>): Promise<void> {
  const waited = new Waited();
  for (;;) {
    try {
      await assertion();
      return;
    } catch (error) {
      if (waited.isTooLong()) throw error;
      await Bun.sleep(waited.pauseMs(LONGEST_PAUSE_MS));
    }
  }
}
