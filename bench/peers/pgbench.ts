/** PostgreSQL's own load generator, with the figures that wrk has. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { $ } from "bun";
import { percentile } from "../figures.ts";
import type { Load } from "../wrk.ts";

/** Runs the writes of `postgres-write.sql` on a server at a Unix socket. */
export async function pgbenchLoad(
  pgbench: string,
  { socket, clients, seconds }: { socket: string; clients: number; seconds: number },
): Promise<Load> {
  const directory = mkdtempSync(join(tmpdir(), "governd-bench-pgbench-"));
  try {
    // The time includes that of connecting, which starts a process for each client.
    const connecting = Math.ceil(clients / 128);
    const script = join(import.meta.dir, "postgres-write.sql");
    const output =
      await $`${pgbench} -h ${socket} -U bench -n -M prepared -j 1 -c ${clients} -T ${seconds + connecting} -f ${script} --log --log-prefix=${join(directory, "log")} postgres`.text();
    const us = latencies(directory);
    if (us.length === 0) throw new Error(`pgbench measured nothing:\n${output}`);
    const failed = Number(/number of failed transactions: (\d+)/.exec(output)?.[1]);
    const perSecond = Number(/tps = ([\d.]+)/.exec(output)?.[1]);
    const sorted = corrected(us, (clients / perSecond) * 1_000_000);
    return {
      requests: us.length,
      requestsPerSecond: perSecond,
      failed,
      p50Ms: percentile(sorted, 0.5) / 1_000,
      p99Ms: percentile(sorted, 0.99) / 1_000,
      p999Ms: percentile(sorted, 0.999) / 1_000,
    };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** Returns how long each transaction took, us: the third field of the log's lines. */
function latencies(directory: string): number[] {
  return readdirSync(directory).flatMap((name) =>
    readFileSync(join(directory, name), "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => Number(line.split(" ")[2])),
  );
}

/**
 * Returns latencies in order, with those of the requests that a client would have sent at its usual interval while it
 * waited for a slow one. wrk does the same to its figures (`stats_correct`).
 */
function corrected(us: readonly number[], interval: number): number[] {
  const all: number[] = [];
  for (const one of us) {
    all.push(one);
    if (one < 2 * interval) continue;
    for (let missed = one - interval; missed > interval; missed -= interval) all.push(missed);
  }
  return all.sort((a, b) => a - b);
}
