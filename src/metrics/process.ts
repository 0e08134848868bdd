/** Metrics of the process, under the names that Prometheus's client libraries share. */
import { readdir } from "node:fs/promises";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { VERSION } from "../version.ts";
import type { Families } from "./family.ts";

const RESOLUTION_MS = 10;
const MICROSECONDS = 1_000_000;
const NANOSECONDS = 1_000_000_000;

/** Measures the event loop lag of the main thread. */
export class LoopLag implements Disposable {
  readonly #delay: ReturnType<typeof monitorEventLoopDelay>;

  constructor() {
    this.#delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
    this.#delay.enable();
  }

  /** Returns the median, the 99th percentile and the maximum since the last call, seconds. */
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

/** `startedMs` is the start time of the process, ms since the epoch. */
export function processFamilies(families: Families, lag: LoopLag, startedMs: number): void {
  families.gauge("governd_build_info", "1, labelled with the versions of governd and of its runtime.", () => [
    { labels: { version: VERSION, bun: Bun.version }, value: 1 },
  ]);
  families.gauge("governd_event_loop_lag_seconds", "Event loop lag of the main thread since the last scrape.", () => {
    const { p50, p99, max } = lag.take();
    return [
      { labels: { percentile: "50" }, value: p50 },
      { labels: { percentile: "99" }, value: p99 },
      { labels: { percentile: "100" }, value: max },
    ];
  });
  families.gauge("process_resident_memory_bytes", "Resident memory of the process.", () => process.memoryUsage.rss());
  families.counter("process_cpu_seconds_total", "Processor time of all threads of the process.", () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / MICROSECONDS;
  });
  families.gauge(
    "process_start_time_seconds",
    "Start time of the process, seconds since the epoch.",
    () => startedMs / 1_000,
  );
  families.gauge("process_open_fds", "Open files and connections; only on Linux.", async () => {
    return process.platform === "linux" ? (await readdir("/proc/self/fd")).length : null;
  });
}
