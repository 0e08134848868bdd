/**
 * The interface of a detector's check, and the limit of what the checks of a text may cost.
 *
 * Screening takes linear time: checks report what they spend, and a text on which they would spend more than its length
 * allows is blocked (scan.ts). One unit is about ten nanoseconds on the machines this was measured on. The count lives
 * here, outside the checks' signatures, and is reset for every text; screening is synchronous.
 */
import type { BUDGET, DetectorName } from "./detectors.ts";

/** What one detector found in one text. Offsets are UTF-16 code units, `end` exclusive. */
export interface Hit {
  detector: DetectorName | typeof BUDGET;
  start: number;
  end: number;
  /** Set when the match is in the text that is encoded there. */
  isEncoded?: true;
}

export function hitOf(detector: DetectorName, start: number, end: number): Hit {
  return { detector, start, end };
}

/** Looks at the text around an anchor that spans `[start, end)`. Bounded. */
export type Check = (text: string, start: number, end: number) => Hit | null;

/** The units that any text may cost. */
const FREE_UNITS = 200_000;
/** The units that each code unit of a text adds. */
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
