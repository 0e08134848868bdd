/** Times as text: one language and one order of day and month in all views, whatever the browser's own are. */

/** English words, the day before the month, 24 hours: a form that no reader mistakes for another date. */
const LOCALE = "en-GB";

const formats = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat(LOCALE, options);

const exact = formats({ dateStyle: "medium", timeStyle: "long" });
const day = formats({ day: "numeric", month: "short", year: "numeric" });
const relative = new Intl.RelativeTimeFormat(LOCALE, { numeric: "auto", style: "long" });

const INTERVALS = {
  minute: formats({ hour: "2-digit", minute: "2-digit" }),
  hour: formats({ weekday: "short", hour: "2-digit", minute: "2-digit" }),
  day: formats({ day: "numeric", month: "short" }),
} as const;

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Returns a time to the second in the reader's zone: "31 Jan 2026, 09:00:00 CET". */
export const exactTime = (ms: number): string => exact.format(ms);

/** Returns a time in UTC, to the millisecond: "2026-01-31 08:00:00.000 UTC". */
export const utcTime = (ms: number): string => `${new Date(ms).toISOString().replace("T", " ").replace("Z", "")} UTC`;

/** Returns the name of the interval that begins at a time. */
export const intervalName = (interval: keyof typeof INTERVALS, at: string): string =>
  INTERVALS[interval].format(Date.parse(at));

/** Returns a time relative to another: "3 minutes ago", "in 2 days", and the date when it is far away. */
export function relativeTime(timeMs: number, nowMs: number): string {
  const distance = timeMs - nowMs;
  const size = Math.abs(distance);
  if (size < 45 * SECOND) return distance > 5 * SECOND ? "in a moment" : "just now";
  if (size < 90 * MINUTE) return relative.format(Math.round(distance / MINUTE), "minute");
  if (size < 36 * HOUR) return relative.format(Math.round(distance / HOUR), "hour");
  if (size < 30 * DAY) return relative.format(Math.round(distance / DAY), "day");
  return day.format(timeMs);
}
