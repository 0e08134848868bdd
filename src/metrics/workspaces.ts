/** The threads and what they have to do, the workspaces, their seals. */
import { DURATION_BOUNDS, Histogram } from "../histogram.ts";
import type { DownWorkspace } from "../threads/down-workspaces.ts";
import type { ThreadGauges } from "../threads/gauges.ts";
import type { PoolLoad } from "../threads/pool.ts";
import type { Families } from "./family.ts";

/** Workspaces that are named when they are down; whoever has more of them down looks into the log. */
const MAX_NAMED = 50;

/** What is asked of the threads. */
export interface WorkspaceSource {
  readonly load: PoolLoad;
  readonly groups: Histogram;
  readonly gauges: { writers: readonly ThreadGauges[]; readers: readonly ThreadGauges[] };
  readonly down: { size: number; list(): DownWorkspace[] };
}

export interface WorkspaceCounts {
  /** Workspaces that there are. */
  workspaces(): number;
  /** Seals made since the start, and when the last one was, ms since the epoch. */
  seals(): { made: number; lastMs: number | null };
  /** Failures that were not expected, since the start. */
  failures(): number;
}

export function workspaceFamilies(
  families: Families,
  pool: WorkspaceSource,
  counts: WorkspaceCounts,
  clock: () => number,
): void {
  threadFamilies(families, pool, counts);
  sealFamilies(families, pool, counts, clock);
  families.gauge({
    name: "governd_workspaces",
    help: "Workspaces that there are.",
    samples: () => [{ value: counts.workspaces() }],
  });
  families.gauge({
    name: "governd_workspaces_open",
    help: "Workspaces whose files are open for writing.",
    samples: () => [{ value: total(pool.gauges.writers, "openWorkspaces") }],
  });
  families.gauge({
    name: "governd_workspaces_down",
    help: "Workspaces whose files cannot be used; the others work.",
    samples: () => [{ value: pool.down.size }],
  });
  families.gauge({
    name: "governd_workspace_down",
    help: `Workspaces whose files cannot be used, by name, the first ${MAX_NAMED} of them.`,
    samples: () =>
      pool.down
        .list()
        .slice(0, MAX_NAMED)
        .map(({ workspaceId }) => ({ labels: { workspace_id: workspaceId }, value: 1 })),
  });
}

function threadFamilies(families: Families, pool: WorkspaceSource, counts: WorkspaceCounts): void {
  families.gauge({
    name: "governd_queue_depth",
    help: "What was taken and is not answered yet: operations, queries, streams (exports, checkpoints), live streams.",
    samples: () => {
      const { operations, queries, streams, live } = pool.load;
      return Object.entries({ operations, queries, streams, live }).map(([queue, value]) => ({
        labels: { queue },
        value,
      }));
    },
  });
  families.histogram({
    name: "governd_group_size",
    help: "Operations that shared a transaction and its fsync.",
    samples: () => [{ histogram: pool.groups }],
  });
  families.histogram({
    name: "governd_transaction_duration_seconds",
    help: "From the begin of a group of operations to the end of its commit.",
    samples: () => [{ histogram: merged(pool.gauges.writers) }],
  });
  families.counter({
    name: "governd_failed_transactions_total",
    help: "Groups of operations that could not be written; their clients were told 503.",
    samples: () => [{ value: total(pool.gauges.writers, "failedGroups") }],
  });
  families.gauge({
    name: "governd_search_index_bytes",
    help: "Memory that the search indexes occupy.",
    samples: () => [{ value: total(pool.gauges.readers, "searchBytes") }],
  });
  families.counter({
    name: "governd_unexpected_failures_total",
    help: "Failures that were not expected; the log names each.",
    samples: () => [{ value: counts.failures() }],
  });
}

function sealFamilies(
  families: Families,
  pool: WorkspaceSource,
  counts: WorkspaceCounts,
  clock: () => number,
): void {
  const { writers } = pool.gauges;
  families.gauge({
    name: "governd_unsealed_workspaces",
    help: "Workspaces with events that no seal covers yet.",
    samples: () => [{ value: total(writers, "unsealedWorkspaces") }],
  });
  families.gauge({
    name: "governd_seal_lag_seconds",
    help: "How long the longest waiting workspace has had events that no seal covers; 0 when none has.",
    samples: () => {
      const since = writers.map((writer) => writer.get("unsealedSinceMs")).filter((ms) => ms > 0);
      return [{ value: since.length === 0 ? 0 : seconds(clock() - Math.min(...since)) }];
    },
  });
  families.gauge({
    name: "governd_last_seal_timestamp_seconds",
    help: "When the last seal was made, of any workspace; absent before the first one since the start.",
    samples: () => {
      const { lastMs } = counts.seals();
      return lastMs === null ? [] : [{ value: seconds(lastMs) }];
    },
  });
  families.counter({
    name: "governd_seals_total",
    help: "Seals made.",
    samples: () => [{ value: counts.seals().made }],
  });
  families.counter({
    name: "governd_seal_failures_total",
    help: "Attempts to seal a workspace that failed; the log says why.",
    samples: () => [{ value: total(writers, "sealFailures") }],
  });
}

const seconds = (ms: number): number => ms / 1_000;

function total(threads: readonly ThreadGauges[], name: Parameters<ThreadGauges["get"]>[0]): number {
  return threads.reduce((sum, thread) => sum + thread.get(name), 0);
}

/** The transactions of all threads as one histogram. */
function merged(threads: readonly ThreadGauges[]): Histogram {
  const all = new Histogram(DURATION_BOUNDS);
  for (const { transactions } of threads) all.add(transactions);
  return all;
}
