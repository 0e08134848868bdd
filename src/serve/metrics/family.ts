/**
 * Families of metrics. The numbers are kept elsewhere as plain numbers, and are read on each scrape. prom-client
 * registers the families and writes the text. Its own counters are not used: each increment creates an object and
 * hashes its labels, and its histograms cannot be filled from numbers.
 */
import type { MetricObject, Registry } from "prom-client";
import type { Histogram } from "./histogram.ts";

interface Labelled {
  labels?: Readonly<Record<string, string | number>>;
}

/** One number of a family. */
export type Sample = Labelled & { value: number; metricName?: string };

/** The numbers of a family: one without labels, several, or none (null). */
type Samples = number | null | Iterable<Sample>;

type HistogramSample = Labelled & { histogram: Histogram };

export class Families {
  /** `onError` is called when the numbers of a family cannot be read. The other families are still shown. */
  constructor(
    private readonly registry: Registry,
    private readonly onError: (family: string, error: unknown) => void,
  ) {}

  /** Adds a value that can rise and fall. */
  gauge(name: string, help: string, samples: () => Samples | Promise<Samples>): void {
    this.#add("gauge", name, help, samples);
  }

  /** Adds a value that only rises and starts at 0 with the daemon. The name ends in `_total`. */
  counter(name: string, help: string, samples: () => Samples | Promise<Samples>): void {
    this.#add("counter", name, help, samples);
  }

  histogram(name: string, help: string, samples: () => Iterable<HistogramSample>): void {
    this.#add("histogram", name, help, () => Array.from(samples()).flatMap((sample) => written(name, sample)));
  }

  #add(type: string, name: string, help: string, samples: () => Samples | Promise<Samples>): void {
    const get = async () => {
      let values: Sample[] = [];
      try {
        const found = await samples();
        if (typeof found === "number") values = [{ value: found }];
        else if (found !== null) values = [...found];
      } catch (error) {
        this.onError(name, error);
      }
      return { name, help, type, values, aggregator: "sum" } as unknown as MetricObject;
    };
    // The registry only uses the name and `get` of a metric.
    this.registry.registerMetric({ name, help, get } as never);
  }
}

/** Returns a histogram in the form of Prometheus: the counts up to each bound, the sum, and the total count. */
function written(name: string, { labels = {}, histogram }: HistogramSample): Sample[] {
  const cumulative = histogram.cumulative;
  const bounds = [...histogram.bounds, "+Inf"];
  return [
    ...bounds.map((le, i) => ({
      metricName: `${name}_bucket`,
      labels: { le, ...labels },
      value: cumulative[i] as number,
    })),
    { metricName: `${name}_sum`, labels, value: histogram.sum },
    { metricName: `${name}_count`, labels, value: cumulative.at(-1) as number },
  ];
}
