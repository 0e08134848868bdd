/** The process itself, under the names that Prometheus's client libraries have in common. */
import { readdir } from "node:fs/promises";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { VERSION } from "../version.ts";
import type { Families } from "./family.ts";

const RESOLUTION_MS = 10;
const MICROSECONDS = 1_000_000;
const NANOSECONDS = 1_000_000_000;

/** Measures how late the main thread's turns come. */
export class LoopLag implements Disposable {
  readonly #delay: ReturnType<typeof monitorEventLoopDelay>;

  constructor() {
    this.#delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
    this.#delay.enable();
  }

  /** The median, the 99th percentile and the worst since the last call, seconds. */
  take(): { p50: number; p99: number; max: number } {
    const taken = {
      p50: this.#delay.percentile(50) / NANOSECONDS,
      p99: this.#delay.percentile(99) / NANOSECONDS,
      max: this.#delay.max / NANOSECONDS,
    };
    this.#delay.reset();
    return taken;
  }

  [Symbol.dispose](): void {
    this.#delay.disable();
  }
}

/** `startedMs` is when the process began, ms since the epoch. */
export function processFamilies(families: Families, lag: LoopLag, startedMs: number): void {
  families.gauge({
    name: "governd_build_info",
    help: "1, with the version of governd and of its runtime.",
    samples: () => [{ labels: { version: VERSION, bun: Bun.version }, value: 1 }],
  });
  families.gauge({
    name: "governd_event_loop_lag_seconds",
    help: "How late the turns of the main thread came since the last scrape.",
    samples: () => {
      const { p50, p99, max } = lag.take();
      return [
        { labels: { percentile: "50" }, value: p50 },
        { labels: { percentile: "99" }, value: p99 },
        { labels: { percentile: "100" }, value: max },
      ];
    },
  });
  families.gauge({
    name: "process_resident_memory_bytes",
    help: "Memory of the process that is in use.",
    samples: () => [{ value: process.memoryUsage.rss() }],
  });
  families.counter({
    name: "process_cpu_seconds_total",
    help: "Processor time of the process, of all its threads.",
    samples: () => {
      const { user, system } = process.cpuUsage();
      return [{ value: (user + system) / MICROSECONDS }];
    },
  });
  families.gauge({
    name: "process_start_time_seconds",
    help: "When the process began, seconds since the epoch.",
    samples: () => [{ value: startedMs / 1_000 }],
  });
  families.gauge({
    name: "process_open_fds",
    help: "Open files and connections; absent where the system does not tell.",
    samples: async () => {
      if (process.platform !== "linux") return [];
      return [{ value: (await readdir("/proc/self/fd")).length }];
    },
  });
}
