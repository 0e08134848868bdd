/**
 * The interface of a detector's check, and the limit of what the checks of some content may cost.
 *
 * Screening takes linear time: checks report what they spend, and content on which they would spend more than its length
 * allows is blocked (scan.ts). One unit is about ten nanoseconds on the machines this was measured on. The count lives
 * here, outside the checks' signatures, and is reset for every decision; screening is synchronous.
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

/** Looks at the text around an anchor that spans `[start, end)`, as far as {@link REACH}. */
export type Check = (text: string, start: number, end: number) => Hit | null;

/**
 * How far from its anchor a check reads, UTF-16 code units: a table with its header and the rows that are read is the
 * farthest. Only the end of what is found may be farther away: of a private key, or of a JSON Web Token, whose parts
 * have no bracket among them. So text that is replaced farther away than this does not change what a check finds.
 */
export const REACH = 2304;

/** The units that any content may cost. */
const FREE_UNITS = 200_000;
/** The units that each code unit of the content adds. */
const UNITS_PER_CODE_UNIT = 6;
/** The same for all further screenings together, of what was redacted. */
const FREE_UNITS_AGAIN = 400_000;
const UNITS_PER_CODE_UNIT_AGAIN = 0.5;

let size = 0;
let spent = 0;
let limit = 0;

/** Starts counting for content of `length` code units. */
export function beginEffort(length: number): void {
  size = length;
  spent = 0;
  limit = FREE_UNITS + length * UNITS_PER_CODE_UNIT;
}

/** Raises the limit once, for all further screenings of the same content. What was spent counts on. */
export function continueEffort(): void {
  limit += FREE_UNITS_AGAIN + size * UNITS_PER_CODE_UNIT_AGAIN;
}

/** Adds `units` to the work done on the content. */
export function spend(units: number): void {
  spent += units;
}

/** Returns whether the content has cost more than its limit. */
export function isExhausted(): boolean {
  return spent > limit;
}
