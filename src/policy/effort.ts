/**
 * Keeps the work on one text linear. Detectors say what they spend; a text on which they would spend more
 * than its length allows is not waved through but blocked (scan.ts).
 *
 * One unit is about ten nanoseconds on the machines this was measured on. The count lives here, outside
 * the detectors' signatures, and is set back for every text; screening is synchronous.
 */

/** What any text may cost. */
const FREE_UNITS = 60_000;
/** What each code unit of a text adds. */
const UNITS_PER_CODE_UNIT = 6;

let spent = 0;
let limit = 0;

/** Begins to count for a text of `length` code units. */
export function beginEffort(length: number): void {
  spent = 0;
  limit = FREE_UNITS + length * UNITS_PER_CODE_UNIT;
}

/** Notes work of `units`. */
export function spend(units: number): void {
  spent += units;
}

/** Whether the text has cost more than it may. */
export function isExhausted(): boolean {
  return spent > limit;
}
