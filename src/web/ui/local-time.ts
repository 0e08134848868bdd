/** Times as the browser's `datetime-local` control has them: in the reader's zone, to the minute. */

/** Returns a `datetime-local` value as a UTC time, undefined when it is empty. */
export function instant(local: string): string | undefined {
  const ms = Date.parse(local);
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString();
}

/** Returns a time as `datetime-local` shows it, in the reader's zone; empty for none. */
export function localTime(time: string | null): string {
  if (time === null) return "";
  const at = new Date(time);
  const zoned = new Date(at.getTime() - at.getTimezoneOffset() * 60_000);
  return zoned.toISOString().slice(0, "2026-01-31T08:00".length);
}
