/**
 * Limits the work of a decision with the operator's own patterns on a thread that must not be held up. A step of a pattern
 * at a code unit of a text is one unit of work, and takes at most about 100 nanoseconds.
 */

/** The work is more than this thread may do. Another thread can make the decision. */
export class TooMuchWork extends Error {
  override readonly name = "TooMuchWork";

  constructor() {
    super("the patterns take too long on this thread");
  }
}

let most = Number.POSITIVE_INFINITY;
let done = 0;

/** Sets the most units of a decision on this thread. */
export function limitPatternWork(units: number): void {
  most = units;
}

/** Starts counting for a decision. */
export function beginPatternWork(): void {
  done = 0;
}

/** Counts units before they are done. @throws {TooMuchWork} beyond the limit */
export function addPatternWork(units: number): void {
  done += units;
  if (done > most) throw new TooMuchWork();
}
