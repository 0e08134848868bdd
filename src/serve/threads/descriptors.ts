/**
 * Computes how many file descriptors the daemon may need, and how many databases and connections it keeps open when the
 * system allows fewer, so that there are always descriptors left to open a workspace.
 */
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { DESCRIPTORS_OF_CONNECTION } from "../../store/connection.ts";

/** The most databases that each thread keeps open. A type and not an interface, so that it can be passed as JSON. */
export type OpenLimits = {
  /** Workspaces of a workspace thread. As many more may be set aside while their disk fails. */
  writers: number;
  /** Workspaces of a reader thread, for queries. */
  readers: number;
  /**
   * Of a reader thread: streams that end by themselves, live streams, and verifications. Each has its own connection.
   */
  streams: number;
  tails: number;
  verifications: number;
  /** Closed connections of a thread that wait for the garbage collector. */
  unreleased: number;
};

/** The limits when there are enough descriptors. */
export const AMPLE: OpenLimits = {
  writers: 128,
  readers: 64,
  streams: 64,
  tails: 128,
  verifications: 16,
  unreleased: 64,
};

/**
 * Other descriptors of the process and of a thread: the runtime's, the file of the installation, sockets, files that are open briefly.
 */
const OF_PROCESS = 96;
const OF_THREAD = 8;
/** The connections to plan for when the operator does not limit them. */
const UNLIMITED_CONNECTIONS = 10_000;
/** The most that connections get of the descriptors when there are too few. */
const PART_OF_CONNECTIONS = 1 / 2;
/** The connections that the fewest descriptors allow with which the daemon starts. */
const FEWEST_CONNECTIONS = 32;

export interface DescriptorPlan {
  /** The descriptors that the daemon may need. */
  needed: number;
  /** The fewest with which it works: one database of each kind, and a few connections. */
  least: number;
  /** Whether fewer are allowed than it may need. */
  isLow: boolean;
  open: OpenLimits;
  /** How many connections to accept. */
  connections: number;
}

/**
 * Plans with at most `allowed` descriptors, of which there must be at least {@link DescriptorPlan.least}.
 * `maxConnections`: as the setting, 0 for no limit.
 */
export function planDescriptors(
  allowed: number,
  { threads, maxConnections }: { threads: number; maxConnections: number },
): DescriptorPlan {
  // For each of `threads`, a workspace thread and a reader thread; and the screening and the delivery thread.
  const rest = OF_PROCESS + OF_THREAD * (2 * threads + 2);
  const descriptorsOf = (open: OpenLimits) => DESCRIPTORS_OF_CONNECTION * databasesOf(open, threads);
  const databases = descriptorsOf(AMPLE);
  const connections = maxConnections === 0 ? UNLIMITED_CONNECTIONS : maxConnections;
  const needed = rest + databases + connections;
  const isLow = allowed < needed;
  const left = Math.max(0, allowed - rest);
  const forDatabases = isLow
    ? Math.min(databases, left - Math.min(connections, left * PART_OF_CONNECTIONS))
    : databases;
  const open = scaled(forDatabases / databases);
  // The databases need more than their part when each thread has but one of a kind.
  const mostConnections = Math.max(1, Math.floor(left - Math.max(forDatabases, descriptorsOf(open))));
  return {
    needed,
    least: rest + descriptorsOf(scaled(0)) + FEWEST_CONNECTIONS,
    isLow,
    open,
    connections: maxConnections === 0 ? mostConnections : Math.min(maxConnections, mostConnections),
  };
}

/** Says what to do when the system allows fewer descriptors than {@link DescriptorPlan.least}. */
export function tooFewDescriptors(allowed: number, threads: number, { least, needed }: DescriptorPlan): string {
  const [count, advice] = threads === 1 ? ["1 thread", ""] : [`${threads} threads`, ", or set fewer threads"];
  const limit = `\`ulimit -n ${needed}\`, or LimitNOFILE of the service`;
  return `The system allows ${allowed} open files, and the daemon needs at least ${least} with ${count}. Raise the limit to ${needed} (${limit})${advice}.`;
}

function databasesOf({ writers, readers, streams, tails, verifications, unreleased }: OpenLimits, threads: number) {
  const ofWriter = 2 * writers + unreleased;
  // Each thread of a verification has a connection.
  const ofReader = readers + streams + tails + verifications + availableParallelism() + unreleased;
  const [ofScreening, ofSinks, ofMain] = [readers + unreleased, readers + unreleased, unreleased];
  return threads * (ofWriter + ofReader) + ofScreening + ofSinks + ofMain;
}

const scaled = (part: number): OpenLimits =>
  Object.fromEntries(
    Object.entries(AMPLE).map(([of, most]) => [of, Math.max(1, Math.floor(part * most))]),
  ) as OpenLimits;

/**
 * Returns how many descriptors a process may have open; infinite where the system does not tell (not Linux) or has no
 * limit. The runtime raises its own limit to the hard one when it starts.
 */
export function allowedDescriptors(pid: number | "self" = "self"): number {
  try {
    const [, soft] = /^Max open files +(\d+) /m.exec(readFileSync(`/proc/${pid}/limits`, "latin1")) ?? [];
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
