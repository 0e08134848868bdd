/** What one detector found in one text. */
import type { BUDGET, DetectorName } from "./detectors.ts";

/** Offsets are UTF-16 code units, `end` exclusive. */
export interface Hit {
  detector: DetectorName | typeof BUDGET;
  start: number;
  end: number;
}

export function hitOf(detector: DetectorName, start: number, end: number): Hit {
  return { detector, start, end };
}
