/** Times as the browser's `datetime-local` control has them: in the reader's zone, to the minute. */

/** The last moment that has a time with four digits for the year, ms since the Unix epoch. */
const LAST_MOMENT_MS = Date.parse("9999-12-31T23:59:59.999Z");

/** Returns a `datetime-local` value as a UTC time, undefined when it is empty. A later time is the last moment. */
export function instant(local: string): string | undefined {
  const ms = Date.parse(local);
  return Number.isNaN(ms) ? undefined : new Date(Math.min(ms, LAST_MOMENT_MS)).toISOString();
}

/** Returns a time as `datetime-local` shows it, in the reader's zone and in the years up to 9999; empty for none. */
export function localTime(time: string | null): string {
  if (time === null) return "";
  const at = new Date(time);
  const zoned = new Date(Math.min(at.getTime() - at.getTimezoneOffset() * 60_000, LAST_MOMENT_MS));
  return zoned.toISOString().slice(0, "2026-01-31T08:00".length);
}
