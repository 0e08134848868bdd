/**
 * Families of metrics whose numbers are kept elsewhere, as plain numbers, and are looked up when somebody
 * scrapes. prom-client holds and writes them; its own counters are not used, since each increment of one
 * makes an object and hashes its labels, and a histogram of its cannot be filled from numbers.
 */
import type { MetricObject, Registry } from "prom-client";
import type { Histogram } from "../histogram.ts";

export type Labels = Readonly<Record<string, string | number>>;

/** One number of a family. */
export interface Sample {
  labels?: Labels;
  value: number;
}

/** What a family is, and where its numbers come from. A family without numbers is shown without any. */
export interface Family {
  name: string;
  help: string;
  samples(): Iterable<Sample> | Promise<Iterable<Sample>>;
}

/** A histogram with its labels. */
export interface HistogramSample {
  labels?: Labels;
  histogram: Histogram;
}

interface WrittenSample extends Sample {
  metricName?: string;
}

export class Families {
  readonly #registry: Registry;
  readonly #onError: (family: string, error: unknown) => void;

  /** `onError` is told of a family whose numbers cannot be had; the others are shown without it. */
  constructor(registry: Registry, onError: (family: string, error: unknown) => void) {
    this.#registry = registry;
    this.#onError = onError;
  }

  /** What can rise and fall. */
  gauge(family: Family): void {
    this.#add("gauge", family);
  }

  /** What only rises; begins at 0 with the daemon. The name ends in `_total`. */
  counter(family: Family): void {
    this.#add("counter", family);
  }

  histogram(family: { name: string; help: string; samples(): Iterable<HistogramSample> }): void {
    this.#add("histogram", {
      ...family,
      samples: () => Array.from(family.samples()).flatMap((sample) => written(family.name, sample)),
    });
  }

  #add(type: string, { name, help, samples }: Family): void {
    const get = async () => {
      let values: Iterable<WrittenSample> = [];
      try {
        values = await samples();
      } catch (error) {
        this.#onError(name, error);
      }
      return { name, help, type, values: [...values], aggregator: "sum" } as unknown as MetricObject;
    };
    // Of a metric, the registry uses its name and `get`.
    this.#registry.registerMetric({ name, help, get } as never);
  }
}

/** A histogram as Prometheus wants it: what is not above each bound, the sum, the count. */
function written(name: string, { labels = {}, histogram }: HistogramSample): WrittenSample[] {
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
