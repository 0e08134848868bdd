/** Bars over time. The same numbers are in a table or in the label, for those who cannot see the bars. */
import type { TargetedPointerEvent } from "preact";
import { useState } from "preact/hooks";
import type { Activity, ActivityInterval } from "../api/types.ts";
import { go } from "../state/router.ts";
import { count, counted } from "./numbers.ts";
import { roundTop } from "./series.ts";
import { intervalName } from "./text/times.ts";

const WIDTH = 720;
const HEIGHT = 140;
const GAP_SHARE = 0.25;
/** The height of the smallest bar that is not zero. */
const LEAST_HEIGHT = 2;

interface ChartProps {
  activity: Activity;
  label: string;
  /** Returns the address of what happened in a stretch of time; with it, the chart can be brushed. */
  linkTo?: (from: string, to: string) => string;
}

export function ActivityChart({ activity, label, linkTo }: ChartProps) {
  const { data, interval } = activity;
  const name = (at: string) => intervalName(interval, at);
  const most = roundTop(Math.max(0, ...data.map(({ events }) => events)));
  const total = sum(data, "events");
  const blocked = sum(data, "blocked");
  const denied = sum(data, "denied");
  const ends = (at: number) => data[at + 1]?.start_time ?? activity.end_time;
  const brush = useBrush(data.length, (first, last) => {
    if (linkTo !== undefined) go(linkTo(data[first]?.start_time as string, ends(last)));
  });
  return (
    <figure class="chart">
      <figcaption class="row">
        <span>
          <strong>{count(total)}</strong> {total === 1 ? "event" : "events"}
        </span>
        <span class="legend legend-bad">
          <strong>{count(blocked)}</strong> blocked
        </span>
        <span class="legend legend-denied">
          <strong>{count(denied)}</strong> denied
        </span>
        {linkTo !== undefined && <span class="faint small">Drag over bars to see their events.</span>}
      </figcaption>
      <div class="chart-plot">
        <div class="chart-scale faint small" aria-hidden="true">
          <span>{count(most)}</span>
          <span>{count(most / 2)}</span>
          <span>0</span>
        </div>
        <svg
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={label}
          {...(linkTo === undefined ? {} : brush.handlers)}
        >
          <path class="chart-grid" d={`M0 0.5H${WIDTH}M0 ${HEIGHT / 2}H${WIDTH}`} />
          {data.map((each, at) => (
            <Bar key={each.start_time} each={each} at={at} of={data.length} most={most} name={name(each.start_time)} />
          ))}
          {brush.range !== null && <Brushed range={brush.range} of={data.length} />}
        </svg>
        <div class="chart-axis faint small" aria-hidden="true">
          {[data[0], data[Math.floor((data.length - 1) / 2)], data.at(-1)].map((each, at) => (
            <span key={at}>{each && name(each.start_time)}</span>
          ))}
        </div>
      </div>
      <details class="small">
        <summary>As a table</summary>
        <ActivityTable
          data={data}
          name={name}
          {...(linkTo && { linkOf: (at: number) => linkTo(data[at]?.start_time as string, ends(at)) })}
        />
      </details>
    </figure>
  );
}

/** The bars between two, both included. */
type Range = readonly [first: number, last: number];

/** Lets a pointer choose bars of a chart. */
function useBrush(of: number, onRange: (...range: Range) => void) {
  const [from, setFrom] = useState<number | null>(null);
  const [to, setTo] = useState(0);
  const barAt = ({ currentTarget, clientX }: TargetedPointerEvent<SVGSVGElement>) => {
    const { left, width } = currentTarget.getBoundingClientRect();
    return Math.max(0, Math.min(of - 1, Math.floor(((clientX - left) / width) * of)));
  };
  const range: Range | null = from === null ? null : [Math.min(from, to), Math.max(from, to)];
  const handlers = {
    onPointerDown(event: TargetedPointerEvent<SVGSVGElement>) {
      event.currentTarget.setPointerCapture(event.pointerId);
      setFrom(barAt(event));
      setTo(barAt(event));
    },
    onPointerMove(event: TargetedPointerEvent<SVGSVGElement>) {
      if (from !== null) setTo(barAt(event));
    },
    onPointerUp(event: TargetedPointerEvent<SVGSVGElement>) {
      if (from === null) return;
      const last = barAt(event);
      setFrom(null);
      onRange(Math.min(from, last), Math.max(from, last));
    },
    onPointerCancel: () => setFrom(null),
  };
  return { range, handlers };
}

function Brushed({ range: [first, last], of }: { range: Range; of: number }) {
  const step = WIDTH / of;
  return <rect class="chart-brush" x={first * step} y={0} width={(last - first + 1) * step} height={HEIGHT} />;
}

interface BarProps {
  each: ActivityInterval;
  at: number;
  of: number;
  most: number;
  name: string;
}

function Bar({ each, at, of, most, name }: BarProps) {
  const step = WIDTH / of;
  const width = step * (1 - GAP_SHARE);
  const x = at * step + (step - width) / 2;
  const height = heightOf(each.events, most);
  const blocked = heightOf(each.blocked, most);
  const denied = heightOf(each.denied, most);
  return (
    <g>
      <title>{`${name}: ${counted(each.events, "event")}, ${count(each.blocked)} blocked, ${count(each.denied)} denied`}</title>
      <rect class="chart-hit" x={at * step} y={0} width={step} height={HEIGHT} />
      <rect class="chart-bar" x={x} y={HEIGHT - height} width={width} height={height} />
      <rect class="chart-bar-bad" x={x} y={HEIGHT - blocked} width={width} height={blocked} />
      <rect class="chart-bar-denied" x={x} y={HEIGHT - blocked - denied} width={width} height={denied} />
    </g>
  );
}

const heightOf = (n: number, most: number): number => (n === 0 ? 0 : Math.max(LEAST_HEIGHT, (n / most) * HEIGHT));

const sum = (data: readonly ActivityInterval[], member: "events" | "blocked" | "denied"): number =>
  data.reduce((total, each) => total + each[member], 0);

interface TableProps {
  data: readonly ActivityInterval[];
  name(at: string): string;
  linkOf?: (at: number) => string;
}

function ActivityTable({ data, name, linkOf }: TableProps) {
  const rows = data.map((each, at) => ({ each, at })).filter(({ each }) => each.events > 0);
  if (rows.length === 0) return <p>Nothing happened in this time.</p>;
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">From</th>
          <th scope="col">Events</th>
          <th scope="col">Blocked</th>
          <th scope="col">Denied</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ each: { start_time, events, blocked, denied }, at }) => (
          <tr key={start_time}>
            <th scope="row">{linkOf === undefined ? name(start_time) : <a href={linkOf(at)}>{name(start_time)}</a>}</th>
            <td>{count(events)}</td>
            <td>{count(blocked)}</td>
            <td>{count(denied)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const BAR_WIDTH = 3;
const STEP = 4;
const SPARK_HEIGHT = 20;
const LEAST_SPARK_HEIGHT = 3;

/** Returns bars as one path, since a list has many of these charts. */
const barsOf = (hours: readonly number[], heightOfBar: (blocked: number) => number): string =>
  hours
    .map((blocked, at) => [at, heightOfBar(blocked)] as const)
    .filter(([, height]) => height > 0)
    .map(([at, height]) => `M${at * STEP} ${SPARK_HEIGHT}v${-height}h${BAR_WIDTH}v${height}z`)
    .join("");

/** What was blocked in each of the last hours, as small bars, the oldest hour first. */
export function BlockedByHour({ hours }: { hours: readonly number[] }) {
  const most = Math.max(1, ...hours);
  return (
    <svg
      class="spark"
      viewBox={`0 0 ${hours.length * STEP} ${SPARK_HEIGHT}`}
      width={hours.length * STEP}
      height={SPARK_HEIGHT}
      role="img"
      aria-label={inWords(hours)}
    >
      <title>{inWords(hours)}</title>
      <path class="spark-none" d={barsOf(hours, (blocked) => (blocked === 0 ? 1 : 0))} />
      <path
        class="spark-bar"
        d={barsOf(hours, (blocked) =>
          blocked === 0 ? 0 : Math.max(LEAST_SPARK_HEIGHT, (blocked / most) * SPARK_HEIGHT),
        )}
      />
    </svg>
  );
}

/** Returns the same in words: "12 blocked in 24 hours, at most 7 in one, the last 3 hours ago". */
function inWords(hours: readonly number[]): string {
  const total = hours.reduce((sum, blocked) => sum + blocked, 0);
  if (total === 0) return `none blocked in ${hours.length} hours`;
  const since = hours.length - 1 - hours.findLastIndex((blocked) => blocked > 0);
  const last = since === 0 ? "within this hour" : `${counted(since, "hour")} ago`;
  return `${count(total)} blocked in ${hours.length} hours, at most ${count(Math.max(...hours))} in one, the last ${last}`;
}
