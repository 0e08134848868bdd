/**
 * Bounds the work on one text, so that screening takes linear time. Detectors report what they spend; a text on which
 * they would spend more than its length allows is blocked (scan.ts).
 *
 * One unit is about ten nanoseconds on the machines this was measured on. The count lives here, outside
 * the detectors' signatures, and is reset for every text; screening is synchronous.
 */

/** What any text may cost. */
const FREE_UNITS = 60_000;
/** What each code unit of a text adds. */
const UNITS_PER_CODE_UNIT = 6;

let spent = 0;
let limit = 0;

/** Starts counting for a text of `length` code units. */
export function beginEffort(length: number): void {
  spent = 0;
  limit = FREE_UNITS + length * UNITS_PER_CODE_UNIT;
}

/** Adds `units` to the work done on the text. */
export function spend(units: number): void {
  spent += units;
}

/** Returns whether the text has cost more than its limit. */
export function isExhausted(): boolean {
  return spent > limit;
}
