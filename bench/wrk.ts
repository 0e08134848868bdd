/** The load generator: wrk, installed from Debian's packages when it is missing. */
import { $ } from "bun";

export interface Load {
  requestsPerSecond: number;
  /** Responses other than 2xx and 3xx. */
  failed: number;
  latencyP99Ms: number;
}

export async function ensureWrk(): Promise<void> {
  if (Bun.which("wrk") !== null) return;
  await $`apt-get update -qq && apt-get install -y -qq wrk`.quiet();
}

/** Loads a server from 64 connections for some seconds. */
export async function load(script: string, url: string, seconds: number, apiKey: string): Promise<Load> {
  const path = new URL(`./load/${script}.lua`, import.meta.url).pathname;
  const output = await $`wrk -t1 -c64 -d${seconds}s --latency -s ${path} ${url}`
    .env({ ...process.env, GOVERND_KEY: apiKey })
    .text();
  const rate = /Requests\/sec:\s+([\d.]+)/.exec(output)?.[1];
  if (rate === undefined) throw new Error(`wrk measured nothing:\n${output}`);
  return {
    requestsPerSecond: Number(rate),
    failed: Number(/Non-2xx or 3xx responses: (\d+)/.exec(output)?.[1] ?? 0),
    latencyP99Ms: toMs(/99%\s+([\d.]+)(us|ms|s)/.exec(output)),
  };
}

function toMs(match: RegExpExecArray | null): number {
  if (match === null) return Number.NaN;
  const factor = { us: 0.001, ms: 1, s: 1_000 }[match[2] as "us" | "ms" | "s"];
  return Number(match[1]) * factor;
}
