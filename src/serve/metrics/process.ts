/** Metrics of the process, under the names that Prometheus's client libraries share. */
import { readdir } from "node:fs/promises";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { VERSION } from "../../version.ts";
import type { Families } from "./family.ts";

const RESOLUTION_MS = 10;
const MICROSECONDS = 1_000_000;
const NANOSECONDS = 1_000_000_000;

/**
 * Measures the event loop lag of the main thread until the result is disposed of.
 * @param startedMs the start time of the process, ms since the epoch
 */
export function processFamilies(families: Families, startedMs: number): Disposable {
  const lag = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  lag.enable();
  families.gauge("governd_build_info", "1, labelled with the versions of governd and of its runtime.", () => [
    { labels: { version: VERSION, bun: Bun.version }, value: 1 },
  ]);
  families.gauge("governd_event_loop_lag_seconds", "Event loop lag of the main thread since the last scrape.", () => {
    const nanoseconds = { 50: lag.percentile(50), 99: lag.percentile(99), 100: lag.max };
    lag.reset();
    return Object.entries(nanoseconds).map(([percentile, value]) => ({
      labels: { percentile },
      value: value / NANOSECONDS,
    }));
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
  return { [Symbol.dispose]: () => void lag.disable() };
}
