/** The priority of threads. */
import { constants, getPriority, setPriority } from "node:os";

/**
 * How much lower a thread's priority is than the process's, as in nice(1). When two threads compete for a processor,
 * the one that is five steps lower gets a third of the other's time.
 */
export const BEHIND = {
  /** Reads, for which clients also wait. */
  reading: 5,
  /** Work that takes seconds of processor time. */
  screening: 10,
  /** Deliveries to sinks, for which no client waits. */
  delivering: 10,
  verifying: 10,
} as const;

/**
 * Lowers the priority of the calling thread, and of threads that it creates, below that of the threads that answer
 * requests. Works only on Linux: elsewhere, setpriority(2) applies to the whole process.
 */
export function runBehind(steps: number): void {
  if (process.platform !== "linux") return;
  const wanted = getPriority(process.pid) + steps;
  try {
    // Never raised, since only a privileged process could do that.
    setPriority(Math.min(constants.priority.PRIORITY_LOW, Math.max(wanted, getPriority())));
  } catch (error) {
    // A sandbox may forbid the call. Then all threads have the same priority.
    const { EPERM, EACCES } = constants.errno;
    if (![EPERM, EACCES].includes(-((error as NodeJS.ErrnoException).errno ?? 0))) throw error;
  }
}
