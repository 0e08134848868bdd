/** Times in requests: RFC 3339 section 5.6 with any offset. */
import { FIRST_MOMENT_MS, LAST_MOMENT_MS } from "../ids.ts";

const RFC3339 = /^\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.(\d+))?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i;

/** The longest timestamp. A fraction of a second may have any number of digits. */
const MAX_LENGTH = 64;

/**
 * Returns milliseconds since the Unix epoch; null when the text is not an RFC 3339 time, names a day or hour that does
 * not exist, or is a leap second (the server's clock has none).
 *
 * A fraction finer than a millisecond is rounded up: event times are whole milliseconds, so for an inclusive start and
 * for an exclusive end alike the next millisecond divides them in the same place. For an inclusive end it is rounded down.
 *
 * An offset or the rounding can lead out of the years 0000 to 9999, as in the last moment of 9999 that many languages
 * take for "for ever". Such a time means the first or the last moment of these years.
 */
export function parseTimestamp(text: string, rounding: "up" | "down" = "up"): number | null {
  const match = text.length > MAX_LENGTH ? null : RFC3339.exec(text);
  if (match === null) return null;
  const day = text.slice(0, "2026-01-31".length);
  const midnightMs = Date.parse(day);
  // The runtime takes February 30 for March 2.
  if (Number.isNaN(midnightMs) || !new Date(midnightMs).toISOString().startsWith(day)) return null;
  const ms = Date.parse(text.toUpperCase().replace(/\.\d+/, "")) + wholeMilliseconds(match[1] ?? "", rounding);
  return Math.min(Math.max(ms, FIRST_MOMENT_MS), LAST_MOMENT_MS);
}

/** Reports whether a value would be a time if an offset from UTC followed. */
export const lacksOffset = (value: unknown): boolean =>
  typeof value === "string" && parseTimestamp(`${value}Z`) !== null;

/** Returns the digits of a fraction as whole milliseconds. It avoids floats, which cannot represent 0.001 exactly. */
function wholeMilliseconds(digits: string, rounding: "up" | "down"): number {
  const whole = Number(digits.slice(0, 3).padEnd(3, "0"));
  return rounding === "up" && /[1-9]/.test(digits.slice(3)) ? whole + 1 : whole;
}
