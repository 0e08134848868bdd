/** Relative times, with the exact time on hover. */
import { signal } from "@preact/signals";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** How often relative times are updated. */
const TICK_MS = 20 * SECOND;

const now = signal(Date.now());
setInterval(() => {
  now.value = Date.now();
}, TICK_MS);

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "long" });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });
const day = new Intl.DateTimeFormat("en", { day: "numeric", month: "short", year: "numeric" });

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

export function Time({ at }: { at: string }) {
  const ms = Date.parse(at);
  return (
    <time dateTime={at} title={`${exact.format(ms)}\n${at}`}>
      {relativeTime(ms, Math.max(now.value, Date.now()))}
    </time>
  );
}

/** A time to the second, in the reader's zone. */
export function ExactTime({ at }: { at: string }) {
  return (
    <time dateTime={at} title={at}>
      {exact.format(Date.parse(at))}
    </time>
  );
}

/** Like {@link Time}, for what may never have happened. */
export function TimeOr({ at, none }: { at: string | null; none: string }) {
  return at === null ? <span class="faint">{none}</span> : <Time at={at} />;
}
