/**
 * Gives back the memory of a burst of work when it is over. The collector alone would leave a thread that
 * has nothing to do with the heap that it had grown to, for as long as it has nothing to do.
 */

const LOOK_EVERY_MS = 250;
/** The process is quiet when it used less than this of one processor core since the last look. */
const QUIET_SHARE = 0.1;
/** What the process must have used since the last collection for another to be worth it, ms. */
const WORTH_MS = 250;

/** For the thread that calls it, as long as that runs. */
export function collectWhenQuiet(): void {
  let before = usedMs();
  let collectedAt = before;
  const look = setInterval(() => {
    const now = usedMs();
    const quiet = now - before < LOOK_EVERY_MS * QUIET_SHARE;
    before = now;
    if (!quiet || now - collectedAt < WORTH_MS) return;
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
