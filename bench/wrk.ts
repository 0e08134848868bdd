/** The load generator: wrk, installed from Debian's packages when it is missing. */
import { $ } from "bun";

/** What a load measured. Every client sends its next request when the response to the last one has arrived. */
export interface Load {
  requests: number;
  requestsPerSecond: number;
  /** Responses other than 2xx and 3xx, broken connections and timeouts. */
  failed: number;
  p50Ms: number;
  p99Ms: number;
  p999Ms: number;
}

export interface LoadOptions {
  seconds: number;
  /** One, or several that writes and batches take in turns, separated by commas. */
  apiKey: string;
  /** Connections; 64 unless given. */
  clients?: number;
  /** The request's path, for scripts that take one. */
  path?: string;
  /** The number of entries that a script chooses from, or that each of its batches has. */
  entries?: number;
}

export async function ensureWrk(): Promise<void> {
  if (Bun.which("wrk") !== null) return;
  await $`apt-get update -qq && apt-get install -y -qq wrk`.quiet();
}

const fileOf = (name: string) => new URL(`./load/${name}.lua`, import.meta.url).pathname;

/** Loads a server for some seconds with a script of `load/`. */
export async function load(script: string, url: string, options: LoadOptions): Promise<Load> {
  const { seconds, apiKey, clients = 64, path, entries } = options;
  const output = await $`wrk -t1 -c${clients} -d${seconds}s --timeout 30s -s ${fileOf(script)} ${url}`
    .env({
      ...process.env,
      GOVERND_KEY: apiKey,
      LOAD_REPORT: fileOf("report"),
      LOAD_ENTRY: fileOf("entry"),
      LOAD_KEYS: fileOf("key"),
      ...(path === undefined ? {} : { LOAD_PATH: path }),
      ...(entries === undefined ? {} : { LOAD_ENTRIES: `${entries}` }),
    })
    .text();
  const line = output.split("\n").find((one) => one.startsWith("{"));
  if (line === undefined) throw new Error(`wrk measured nothing:\n${output}`);
  const { requests, us, p50, p99, p999, failed } = JSON.parse(line) as Record<string, number>;
  // A rate of zero is no measurement: neither a ratio nor a plot can be made of it.
  if (requests === 0) throw new Error(`${script}: no request of ${clients} clients was answered within ${seconds} s`);
  const ms = (value: number | undefined) => (value as number) / 1_000;
  return {
    requests: requests as number,
    requestsPerSecond: (requests as number) / ((us as number) / 1_000_000),
    failed: failed as number,
    p50Ms: ms(p50),
    p99Ms: ms(p99),
    p999Ms: ms(p999),
  };
}
