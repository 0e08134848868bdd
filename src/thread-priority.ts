/** The priority of threads. */
import { constants, getPriority, setPriority } from "node:os";

/**
 * How much lower than that of the process a thread's priority is, as in nice(1): a step of five leaves a thread a
 * third of the time of one that is not behind, when both want the same processor.
 */
export const BEHIND = {
  /** Reads: somebody waits for them too. */
  reading: 5,
  /** What takes seconds of processor time. */
  screening: 10,
  /** Nobody waits for what receivers outside get. */
  delivering: 10,
  verifying: 10,
} as const;

/**
 * Lets the threads that answer requests go before the calling one, whose own threads are as far behind. Does nothing
 * but on Linux: elsewhere, setpriority(2) is about the whole process.
 */
export function runBehind(steps: number): void {
  if (process.platform !== "linux") return;
  const wanted = getPriority(process.pid) + steps;
  try {
    // Only a privileged process could raise it again.
    setPriority(Math.min(constants.priority.PRIORITY_LOW, Math.max(wanted, getPriority())));
  } catch (error) {
    // A sandbox may forbid the call. Then all threads have the same priority.
    const { EPERM, EACCES } = constants.errno;
    if (![EPERM, EACCES].includes(-((error as NodeJS.ErrnoException).errno ?? 0))) throw error;
  }
}
