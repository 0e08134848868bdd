/** What there is to watch of a service, whether anybody does or not. */
import type { Anchors } from "../anchors/anchors.ts";
import type { RequestMeter } from "../http/pipeline/request-meter.ts";
import type { WorkspacePool } from "../threads/pool.ts";
import type { ReadinessProbe } from "./readiness.ts";

/** What happened since the start, counted where it is noticed. */
export class Tally {
  /** Failures that were not expected. */
  failures = 0;
  seals = 0;
  /** When the last seal was made, ms since the epoch. */
  lastSealMs: number | null = null;
}

/** What there is to watch of a service. */
export interface Watched {
  pool: WorkspacePool;
  anchors: Anchors;
  /** Null when nobody asked for metrics: then nothing is counted. */
  requests: RequestMeter | null;
  tally: Tally;
  readiness: ReadinessProbe;
}
