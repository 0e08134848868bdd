/** Waits for a condition instead of a time, so that tests also pass on a slow machine. */

/** Longer than anything takes that happens at all, on a machine ten times slower than usual. */
const PATIENCE_MS = 40_000;
const LOOK_EVERY_MS = 10;

/**
 * Resolves when the condition holds.
 * @throws {Error} naming `what` when the condition stays false
 */
export async function eventually(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`it did not come to that: ${what}`);
    await Bun.sleep(LOOK_EVERY_MS);
  }
}
