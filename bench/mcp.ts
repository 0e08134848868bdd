/**
 * What MCP costs: compares the daemon's processor time of a tool call with that of the plain call, in turns.
 *
 * `bun bench/mcp.ts [--binary FILE] [--rounds N] [--seconds N] [--clients N]`
 */
import { join } from "node:path";
import { prepareAgents, startDaemon } from "./daemon.ts";
import { median, option, text } from "./figures.ts";
import { ensureWrk, load } from "./wrk.ts";

const BINARY = text("binary", join(import.meta.dir, "..", "dist", "governd"));

/** The plain calls, and the tools that do the same over MCP. */
const CASES = [
  { name: "write", plain: "write", tool: "memory_write" },
  { name: "read", plain: "read", tool: "memory_read" },
] as const;
const VERSIONS = ["2026-07-28", "2025-11-25"] as const;

const [rounds, seconds, clients] = [option("rounds", 5), option("seconds", 3), option("clients", 16)];

await ensureWrk();
await using daemon = await startDaemon(BINARY);
await prepareAgents(daemon);
const { apiKey, url } = daemon;

/** Returns the daemon's processor time of one request, microseconds. */
async function costOf(script: string, path?: string): Promise<number> {
  const before = daemon.cpuSeconds();
  const options = { seconds, apiKey, clients, ...(path === undefined ? {} : { path }) };
  const { requests, failed } = await load(script, url, options);
  if (failed > 0) throw new Error(`${failed} requests of ${script} ${path ?? ""} failed`);
  return ((daemon.cpuSeconds() - before) / requests) * 1_000_000;
}

for (const { name, plain, tool } of CASES) {
  const runs = [
    { label: "plain", cost: () => costOf(plain) },
    ...VERSIONS.map((version) => ({ label: version, cost: () => costOf("mcp", `${tool} ${version}`) })),
  ];
  const costs = runs.map((): number[] => []);
  for (const { cost } of runs) await cost(); // warms up
  for (let round = 0; round < rounds; round++) {
    // Each round begins with another case.
    for (let turn = 0; turn < runs.length; turn++) {
      const at = (turn + round) % runs.length;
      costs[at]?.push((await runs[at]?.cost()) as number);
    }
  }
  const [base = 0] = costs.map(median);
  for (const [at, { label }] of runs.entries()) {
    const us = median(costs[at] as number[]);
    process.stdout.write(`${name} ${label}: ${us.toFixed(1)} us of processor time, ${(us / base).toFixed(2)} times\n`);
  }
}
