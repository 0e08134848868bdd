/** What was blocked in each of the last hours, as bars of a word's height. */
import { count, counted } from "./numbers.ts";

const BAR_WIDTH = 3;
const STEP = 4;
const HEIGHT = 20;
/** A bar that stands for something is never too low to be seen. */
const LEAST_HEIGHT = 3;

/** Bars, the oldest hour first. The same in words is its label. */
export function BlockedByHour({ hours }: { hours: readonly number[] }) {
  const most = Math.max(1, ...hours);
  return (
    <svg
      class="spark"
      viewBox={`0 0 ${hours.length * STEP} ${HEIGHT}`}
      width={hours.length * STEP}
      height={HEIGHT}
      role="img"
      aria-label={inWords(hours)}
    >
      <title>{inWords(hours)}</title>
      {hours.map((blocked, at) => {
        const height = blocked === 0 ? 1 : Math.max(LEAST_HEIGHT, (blocked / most) * HEIGHT);
        return (
          <rect
            key={at}
            class={blocked === 0 ? "spark-none" : "spark-bar"}
            x={at * STEP}
            y={HEIGHT - height}
            width={BAR_WIDTH}
            height={height}
          />
        );
      })}
    </svg>
  );
}

/** "12 blocked in 24 hours, at most 7 in one, the last 3 hours ago". */
export function inWords(hours: readonly number[]): string {
  const total = hours.reduce((sum, blocked) => sum + blocked, 0);
  if (total === 0) return `none blocked in ${hours.length} hours`;
  const since = hours.length - 1 - hours.findLastIndex((blocked) => blocked > 0);
  const last = since === 0 ? "within this hour" : `${counted(since, "hour")} ago`;
  return `${count(total)} blocked in ${hours.length} hours, at most ${count(Math.max(...hours))} in one, the last ${last}`;
}
