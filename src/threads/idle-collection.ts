/**
 * Collects garbage after a burst of work. By itself, the collector would leave an idle thread with the heap that the
 * burst needed.
 */

const LOOK_EVERY_MS = 250;
/** The process is idle when it used less than this share of one processor core since the last look. */
const IDLE_SHARE = 0.1;
/** Processor time since the last collection from which another is worth its cost, ms. */
const WORTH_MS = 250;

/** Watches and collects for the calling thread, until it ends. */
export function collectWhenIdle(): void {
  let before = usedMs();
  let collectedAt = before;
  const look = setInterval(() => {
    const now = usedMs();
    const idle = now - before < LOOK_EVERY_MS * IDLE_SHARE;
    before = now;
    if (!idle || now - collectedAt < WORTH_MS) return;
    Bun.gc(true);
    collectedAt = before = usedMs();
  }, LOOK_EVERY_MS);
  look.unref();
}

/** Processor time of the whole process, ms. */
function usedMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
