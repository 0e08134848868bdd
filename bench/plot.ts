/** A line chart as SVG, both axes logarithmic. */

export interface Line {
  name: string;
  points: readonly { x: number; y: number }[];
}

export interface Chart {
  title: string;
  xLabel: string;
  lines: readonly Line[];
}

const WIDTH = 460;
const HEIGHT = 320;
const EDGE = { left: 60, right: 16, top: 34, bottom: 44 };
const COLOURS = ["#0b6e4f", "#8a8a8a", "#c44900", "#2b59c3", "#7b2d8b"];
const STYLE = "font-family:sans-serif;font-size:12px;fill:#222";

const escaped = (text: string) => text.replace(/[&<>"]/g, (found) => `&#${found.charCodeAt(0)};`);

/** Returns the powers of ten that enclose the values. */
function decades(values: readonly number[]): number[] {
  const first = Math.floor(Math.log10(Math.min(...values)));
  const last = Math.max(first + 1, Math.ceil(Math.log10(Math.max(...values))));
  return Array.from({ length: last - first + 1 }, (_, at) => 10 ** (first + at));
}

function panel({ title, xLabel, lines }: Chart): string {
  const points = lines.flatMap((line) => line.points);
  const xs = [...new Set(points.map(({ x }) => x))].sort((a, b) => a - b);
  const yTicks = decades(points.map(({ y }) => y));
  const scale = (from: number, to: number, start: number, end: number) => (value: number) =>
    from === to ? start : start + (Math.log(value / from) / Math.log(to / from)) * (end - start);
  const atX = scale(xs[0] as number, xs.at(-1) as number, EDGE.left + 8, WIDTH - EDGE.right - 8);
  const atY = scale(yTicks[0] as number, yTicks.at(-1) as number, HEIGHT - EDGE.bottom, EDGE.top);
  const text = (x: number, y: number, anchor: string, words: string) =>
    `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}" style="${STYLE}">${escaped(words)}</text>`;
  return [
    text(WIDTH / 2, 18, "middle", title),
    text(WIDTH / 2, HEIGHT - 8, "middle", xLabel),
    ...yTicks.flatMap((tick) => [
      `<path d="M${EDGE.left} ${atY(tick).toFixed(1)}H${WIDTH - EDGE.right}" stroke="#ddd"/>`,
      text(EDGE.left - 6, atY(tick) + 4, "end", tick.toLocaleString("en-US")),
    ]),
    ...xs.map((x) => text(atX(x), HEIGHT - EDGE.bottom + 18, "middle", x.toLocaleString("en-US"))),
    ...lines.flatMap((line, at) => {
      const colour = COLOURS[at % COLOURS.length];
      const drawn = line.points.map(({ x, y }) => [atX(x).toFixed(1), atY(y).toFixed(1)] as const);
      const path = drawn.map((pair) => pair.join(" ")).join("L");
      return [
        `<path d="M${path}" fill="none" stroke="${colour}" stroke-width="2"/>`,
        ...drawn.map(([x, y]) => `<circle cx="${x}" cy="${y}" r="3" fill="${colour}"/>`),
      ];
    }),
  ].join("\n");
}

/** Returns the charts side by side, with one legend: lines of the same place in each chart share their name. */
export function plot(charts: readonly Chart[]): string {
  const legend = (charts[0]?.lines ?? []).map(
    ({ name }, at) =>
      `<g transform="translate(${EDGE.left + at * 200} ${HEIGHT + 12})"><rect width="14" height="4" y="-5" fill="${COLOURS[at % COLOURS.length]}"/><text x="20" style="${STYLE}">${escaped(name)}</text></g>`,
  );
  const size = `width="${WIDTH * charts.length}" height="${HEIGHT + 28}"`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img">`,
    `<rect ${size} fill="#fff"/>`,
    ...charts.map((chart, at) => `<g transform="translate(${at * WIDTH} 0)">\n${panel(chart)}\n</g>`),
    ...legend,
    "</svg>\n",
  ].join("\n");
}
