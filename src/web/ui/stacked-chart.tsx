/** Bars over time, each divided into series, on an axis. The same numbers are in a table. */
import { count, counted } from "./numbers.ts";
import { grouped, roundTop, type Series, sum } from "./series.ts";

interface Props {
  label: string;
  /** The names of the bars, the oldest first. */
  bars: readonly string[];
  /** The largest first. */
  series: readonly Series[];
  /** Said when there is nothing. */
  none: string;
}

const WIDTH = 720;
const HEIGHT = 160;
const GAP_SHARE = 0.25;

export function StackedChart({ label, bars, series, none }: Props) {
  const shown = grouped(series);
  const totals = bars.map((_, at) => sum(shown.map(({ values }) => values[at] ?? 0)));
  const top = roundTop(Math.max(...totals, 0));
  if (shown.length === 0) return <p class="chart-none faint">{none}</p>;
  return (
    <figure class="chart">
      <figcaption class="row">
        {shown.map(({ name, values }, color) => (
          <span key={name} class={`legend series-${color}`}>
            {name} <strong>{count(sum(values))}</strong>
          </span>
        ))}
      </figcaption>
      <div class="chart-plot">
        <div class="chart-scale faint small" aria-hidden="true">
          <span>{count(top)}</span>
          <span>{count(top / 2)}</span>
          <span>0</span>
        </div>
        <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
          <path class="chart-grid" d={`M0 0.5H${WIDTH}M0 ${HEIGHT / 2}H${WIDTH}`} />
          {bars.map((name, at) => (
            <Bar key={name} name={name} at={at} of={bars.length} shown={shown} top={top} />
          ))}
        </svg>
        <div class="chart-axis faint small" aria-hidden="true">
          <span>{bars[0]}</span>
          <span>{bars[Math.floor((bars.length - 1) / 2)]}</span>
          <span>{bars.at(-1)}</span>
        </div>
      </div>
      <details class="small">
        <summary>As a table</summary>
        <SeriesTable bars={bars} series={series} totals={totals} />
      </details>
    </figure>
  );
}

interface BarProps {
  name: string;
  at: number;
  of: number;
  shown: readonly Series[];
  top: number;
}

function Bar({ name, at, of, shown, top }: BarProps) {
  const step = WIDTH / of;
  const width = step * (1 - GAP_SHARE);
  const x = at * step + (step - width) / 2;
  let y = HEIGHT;
  const said = shown
    .filter(({ values }) => (values[at] ?? 0) > 0)
    .map((one) => `${one.name} ${count(one.values[at] ?? 0)}`);
  return (
    <g>
      <title>{`${name}: ${said.join(", ") || "none"}`}</title>
      <rect class="chart-hit" x={at * step} y={0} width={step} height={HEIGHT} />
      {shown.map((one, color) => {
        const height = ((one.values[at] ?? 0) / top) * HEIGHT;
        y -= height;
        return <rect key={one.name} class={`series-${color}`} x={x} y={y} width={width} height={height} />;
      })}
    </g>
  );
}

function SeriesTable({ bars, series, totals }: Pick<Props, "bars" | "series"> & { totals: readonly number[] }) {
  const rows = bars.map((name, at) => ({ name, at })).filter(({ at }) => (totals[at] ?? 0) > 0);
  return (
    <div class="table-scroll">
      <table>
        <caption class="sr-only">{counted(rows.length, "interval")} with something</caption>
        <thead>
          <tr>
            <th scope="col">From</th>
            {series.map(({ name }) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ name, at }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              {series.map((one) => (
                <td key={one.name}>{count(one.values[at] ?? 0)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
