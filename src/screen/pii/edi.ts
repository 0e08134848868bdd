/** Personal data in messages between companies and hospitals: X12 (ASC), EDIFACT (ISO 9735) and HL7 version 2. */
import type { Anchor } from "../anchor.ts";
import { type Check, hitOf, spend } from "../check.ts";
import type { DetectorName } from "../detectors.ts";
import { isAlphanumeric, matchEnd } from "../text/ascii.ts";

/** The cost of reading a segment, units. */
const SEGMENT_UNITS = 60;

interface Segment {
  detector: DetectorName;
  /** How the segment begins. */
  word: string;
  /** The rest of it, sticky. */
  rest: RegExp;
}

const SEGMENTS: readonly Segment[] = [
  // A person's date of birth, and with another qualifier a date of something else.
  { detector: "date_of_birth", word: "DMG*D8*", rest: /(?:1[89]|20)\d{6}(?!\d)/y },
  { detector: "date_of_birth", word: "DTM+329:", rest: /(?:1[89]|20)\d{6}(?!\d)/y },
  // The seventh field of the patient's segment.
  { detector: "date_of_birth", word: "PID|", rest: /(?:[^|\n\r]{0,80}\|){6}(?:1[89]|20)\d{6}(?!\d)/y },
  { detector: "us_ssn", word: "REF*SY*", rest: /\d{9}(?!\d)/y },
  {
    detector: "postal_address",
    word: "NAD+",
    rest: /[A-Z]{2,3}\+[^'\n]{0,120}?\+[^+'\n]{0,60}?\p{L}{2}[^+'\n]{0,60}?\d[^+'\n]{0,8}\+[^+'\n]{2,40}\+/uy,
  },
  {
    detector: "postal_address",
    word: "N3*",
    rest: /(?=[^~\n]{0,60}\d)[^*~\n]{3,60}(?:\*[^*~\n]{0,60})?~\s{0,2}N4\*[^*~\n]{2,40}/y,
  },
];

/** The anchors of a detector's segments. */
export const segmentAnchors = (detector: DetectorName): Anchor[] =>
  SEGMENTS.filter((segment) => segment.detector === detector).map(({ word, rest }) => ({
    word,
    exact: true,
    check: segment(detector, rest),
  }));

const segment =
  (detector: DetectorName, rest: RegExp): Check =>
  (text, start, end) => {
    if (isAlphanumeric(text.charCodeAt(start - 1))) return null;
    spend(SEGMENT_UNITS);
    const last = matchEnd(rest, text, end);
    return last < 0 ? null : hitOf(detector, start, last);
  };
