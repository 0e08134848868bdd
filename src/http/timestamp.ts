/** Times in requests: RFC 3339 section 5.6 with any offset. */

const RFC3339 = /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d+))?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/;

const MINUTE_MS = 60_000;

/** The longest timestamp. A fraction of a second may have any number of digits. */
const MAX_LENGTH = 64;

/**
 * Returns milliseconds since the Unix epoch, null when the text is not an RFC 3339 time, names a day or
 * hour that does not exist, or is a leap second (the server's clock has none).
 *
 * A fraction finer than a millisecond is rounded up: event times are whole milliseconds, so for an
 * inclusive start and for an exclusive end alike the next millisecond divides them in the same place.
 */
export function parseTimestamp(text: string): number | null {
  if (text.length > MAX_LENGTH) return null;
  const match = RFC3339.exec(text);
  if (match === null) return null;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as Parts;
  const offset = offsetMinutes(match[8], match[9], match[10]);
  if (offset === null || hour > 23 || minute > 59 || second > 59) return null;
  const date = new Date(0);
  // setUTCFullYear, since Date.UTC treats the years 0 to 99 as 1900 to 1999.
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return null;
  date.setUTCHours(hour, minute, second);
  return date.getTime() - offset * MINUTE_MS + wholeMilliseconds(match[7] ?? "");
}

type Parts = [year: number, month: number, day: number, hour: number, minute: number, second: number];

function offsetMinutes(sign?: string, hours?: string, minutes?: string): number | null {
  if (sign === undefined) return 0;
  if (Number(hours) > 23 || Number(minutes) > 59) return null;
  return (sign === "-" ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
}

/** Returns the digits of a fraction as milliseconds, rounded up. No floats, which cannot hold 0.001 exactly. */
function wholeMilliseconds(digits: string): number {
  const whole = Number(digits.slice(0, 3).padEnd(3, "0"));
  return /[1-9]/.test(digits.slice(3)) ? whole + 1 : whole;
}
