/** Metrics of threads, workspaces and seals. */

import type { ThreadGauges } from "../threads/gauges.ts";
import type { WorkspacePool } from "../threads/pool.ts";
import type { Families } from "./family.ts";
import { DURATION_BOUNDS, Histogram } from "./histogram.ts";

/** The most workspaces that are named when they are down. The log names all of them. */
const MAX_NAMED = 50;

/** Counts since the start. */
export interface Tally {
  unexpectedFailures: number;
  seals: number;
  /** When the last seal was made, ms since the epoch. */
  lastSealMs: number | null;
}

/** The sources of the numbers. */
export interface WorkspaceSource {
  pool: WorkspacePool;
  tally: Readonly<Tally>;
  countWorkspaces(): number;
  clock(): number;
}

export function workspaceFamilies(families: Families, source: WorkspaceSource): void {
  const { pool } = source;
  threadFamilies(families, source);
  sealFamilies(families, source);
  families.gauge("governd_workspaces", "Number of workspaces.", () => source.countWorkspaces());
  families.gauge("governd_workspaces_open", "Workspaces whose files are open for writing.", () =>
    total(pool.gauges.writers, "openWorkspaces"),
  );
  families.gauge("governd_workspaces_down", "Workspaces whose files cannot be used.", () => pool.down.size);
  families.gauge(
    "governd_workspace_down",
    `Workspaces whose files cannot be used, by name, the first ${MAX_NAMED} of them.`,
    () =>
      Array.from(pool.down.keys().take(MAX_NAMED), (workspaceId) => ({
        labels: { workspace_id: workspaceId },
        value: 1,
      })),
  );
}

function threadFamilies(families: Families, { pool, tally }: WorkspaceSource): void {
  families.gauge(
    "governd_queue_depth",
    "Accepted and not answered yet: operations, queries, streams (exports, checkpoints), live streams.",
    () => {
      const { operations, queries, streams, live } = pool.load;
      return Object.entries({ operations, queries, streams, live }).map(([queue, value]) => ({
        labels: { queue },
        value,
      }));
    },
  );
  families.histogram("governd_group_size", "Operations that shared a transaction and its fsync.", () => [
    { histogram: pool.groups },
  ]);
  families.histogram(
    "governd_transaction_duration_seconds",
    "From the start of a group of operations to the end of its commit.",
    () => [{ histogram: merged(pool.gauges.writers) }],
  );
  families.counter(
    "governd_failed_transactions_total",
    "Groups of operations that could not be written; their clients got 503.",
    () => total(pool.gauges.writers, "failedGroups"),
  );
  families.gauge("governd_search_index_bytes", "Memory that the search indexes occupy.", () =>
    total(pool.gauges.readers, "searchBytes"),
  );
  families.counter(
    "governd_unexpected_failures_total",
    "Unexpected failures; the log describes each one.",
    () => tally.unexpectedFailures,
  );
}

function sealFamilies(families: Families, { pool, tally, clock }: WorkspaceSource): void {
  const { writers } = pool.gauges;
  families.gauge("governd_unsealed_workspaces", "Workspaces with events that no seal covers yet.", () =>
    total(writers, "unsealedWorkspaces"),
  );
  families.gauge(
    "governd_seal_lag_seconds",
    "How long the oldest event that no seal covers has waited; 0 when all are sealed.",
    () => {
      const since = writers.map((writer) => writer.get("unsealedSinceMs")).filter((ms) => ms > 0);
      return since.length === 0 ? 0 : seconds(clock() - Math.min(...since));
    },
  );
  families.gauge(
    "governd_last_seal_timestamp_seconds",
    "When the last seal of any workspace was made; absent before the first one since the start.",
    () => (tally.lastSealMs === null ? null : seconds(tally.lastSealMs)),
  );
  families.counter("governd_seals_total", "Seals made.", () => tally.seals);
  families.counter("governd_seal_failures_total", "Attempts to seal a workspace that failed; the log says why.", () =>
    total(writers, "sealFailures"),
  );
}

const seconds = (ms: number): number => ms / 1_000;

const total = (threads: readonly ThreadGauges[], name: Parameters<ThreadGauges["get"]>[0]): number =>
  threads.reduce((sum, thread) => sum + thread.get(name), 0);

function merged(threads: readonly ThreadGauges[]): Histogram {
  const all = new Histogram(DURATION_BOUNDS);
  for (const { transactions } of threads) all.add(transactions);
  return all;
}
