/** Whether the daemon can be reached. While it cannot, requests are repeated, and views load when it answers. */
import { signal } from "@preact/signals";

/** How long to wait between two attempts: doubles after each failure, from the first to the last. */
const FIRST_MS = 1_000;
const LAST_MS = 8_000;

/** How often the daemon came back. Data that was loaded before may have changed. */
export const returned = signal(0);

let isAway = false;

/** Notes that a request did not reach the daemon, and waits for the daemon. */
export function noteAway(): void {
  if (isAway) return;
  isAway = true;
  attempt(FIRST_MS);
}

function attempt(waitMs: number): void {
  setTimeout(async () => {
    if (!(await isReady())) {
      attempt(Math.min(waitMs * 2, LAST_MS));
      return;
    }
    isAway = false;
    returned.value++;
  }, waitMs);
}

async function isReady(): Promise<boolean> {
  try {
    return (await fetch("/readyz", { cache: "no-store" })).ok;
  } catch {
    return false;
  }
}
