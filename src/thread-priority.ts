/** The priority of threads. */
import { setPriority } from "node:os";

/** As in nice(1): such a thread has the processor while the others leave it. */
const BACKGROUND = 10;

/**
 * Lets the threads that people wait for go before the calling one. Does nothing but on Linux: elsewhere, setpriority(2)
 * is about the whole process.
 */
export function runInBackground(): void {
  if (process.platform === "linux") setPriority(BACKGROUND);
}
