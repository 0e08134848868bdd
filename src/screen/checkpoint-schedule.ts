/** The policies `checkpoint_every_hours` and `checkpoints_kept`: checkpoints that the daemon makes by itself. */
import type { OtherPolicy } from "./policy.ts";

/** The longest time between two checkpoints, in hours: a year. */
const MAX_HOURS = 8_760;
const MAX_KEPT = 10_000;
const HOUR_MS = 3_600_000;

/** The hours after which changes get a checkpoint; null when the daemon makes none. */
type Hours = number | null;
/** How many of these checkpoints are kept; null for all. */
type Kept = number | null;

export const checkpointEvery: OtherPolicy<Hours> = {
  decide: null,
  form: { type: "integer", minimum: 1, maximum: MAX_HOURS },
  description: `Hours of changes before the daemon makes a checkpoint: an integer from 1 to ${MAX_HOURS}.`,
  example: 24,
  off: null,
  stricter: (a, b) => (a === null || b === null ? (a ?? b) : Math.min(a, b)),
  display: {
    label: "Checkpoint every (hours)",
    hint: "The daemon makes a checkpoint when something changed and the newest one is so old. Empty: only people and programs make them.",
    badge: (hours) => (hours === 1 ? "checkpoint every hour" : `checkpoint every ${hours} hours`),
  },
};

export const checkpointsKept: OtherPolicy<Kept> = {
  decide: null,
  form: { type: "integer", minimum: 1, maximum: MAX_KEPT },
  description: `Checkpoints by the daemon that are kept: an integer from 1 to ${MAX_KEPT}.`,
  example: 30,
  off: null,
  // The larger number, which keeps what both demand.
  stricter: (a, b) => (a === null || b === null ? (a ?? b) : Math.max(a, b)),
  display: {
    label: "Scheduled checkpoints kept",
    hint: "With a newer one, the daemon deletes the oldest of its own. Those that people and programs made stay. Empty: all are kept.",
    badge: (kept) => `keeps ${kept} scheduled`,
  },
};

/** Their members in the `policies` of a config. */
export const CHECKPOINT_EVERY = "checkpoint_every_hours";
export const CHECKPOINTS_KEPT = "checkpoints_kept";

/** The part of an agent's settings that concerns checkpoints by the daemon. */
interface WithSchedule {
  readonly [CHECKPOINT_EVERY]: Hours;
  readonly [CHECKPOINTS_KEPT]: Kept;
}

/**
 * Returns the latest time (ms) of an agent's newest checkpoint at which another is due; null when the daemon makes
 * none.
 */
export const dueSince = ({ [CHECKPOINT_EVERY]: hours }: WithSchedule, nowMs: number): number | null =>
  hours === null ? null : nowMs - hours * HOUR_MS;

/** Returns how many of the checkpoints that the daemon made are kept. */
export const scheduledKept = ({ [CHECKPOINTS_KEPT]: kept }: WithSchedule): number => kept ?? Number.POSITIVE_INFINITY;
