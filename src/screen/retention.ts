/** The policy `retention_days`: entries expire some days after their last write. */
import type { OtherPolicy } from "./policy.ts";

/** Longest retention, in days: a hundred years. */
const MAX_DAYS = 36_500;
const DAY_MS = 86_400_000;

/** The days that an entry is kept after its last write; null for ever. */
type RetentionDays = number | null;

export const retention: OtherPolicy<RetentionDays> = {
  decide: null,
  form: { type: "integer", minimum: 1, maximum: MAX_DAYS },
  description: `Days after its last write that an entry is gone: an integer from 1 to ${MAX_DAYS}.`,
  example: 90,
  off: null,
  stricter: (a, b) => (a === null || b === null ? (a ?? b) : Math.min(a, b)),
  display: {
    label: "Keep data for (days)",
    hint: "Entries are deleted so many days after their last write. Empty: kept until deleted.",
    badge: (days) => (days === 1 ? "keeps 1 day" : `keeps ${days} days`),
  },
};

/** Its member in the `policies` of a config. */
export const RETENTION = "retention_days";

/** The part of an agent's settings that concerns retention. */
export interface WithRetention {
  readonly [RETENTION]: RetentionDays;
}

/** Returns the time (ms): entries that were last written before it are expired; -1 when nothing expires. */
export const retentionCutoff = ({ [RETENTION]: days }: WithRetention, nowMs: number): number =>
  days === null ? -1 : Math.max(-1, nowMs - days * DAY_MS);

/** Who looks at entries, and when. */
export interface Viewer {
  nowMs: number;
  /** Whether what is set aside (a quarantine) is there: for people and the daemon itself, and never for a program. */
  seesSetAside: boolean;
}

/**
 * Which entries exist for a viewer: those written at `cutoffMs` or later that do not expire at `nowMs` or earlier, and
 * are not set aside, unless the viewer sees those.
 */
export interface Freshness extends Viewer {
  cutoffMs: number;
}

/** Returns which entries exist for a viewer under some policies. */
export const freshAt = (policies: WithRetention, { nowMs, seesSetAside }: Viewer): Freshness => ({
  cutoffMs: retentionCutoff(policies, nowMs),
  nowMs,
  seesSetAside,
});

/** An entry, as far as its existence depends on it. */
interface Existing {
  updatedAt: number;
  /** The entry's own expiry time, ms; null for never. */
  expiresAt: number | null;
  isSetAside: boolean;
}

/** Reports whether an entry exists for a viewer. */
export const isFresh = ({ updatedAt, expiresAt, isSetAside }: Existing, fresh: Freshness): boolean =>
  updatedAt >= fresh.cutoffMs && (expiresAt === null || expiresAt > fresh.nowMs) && (!isSetAside || fresh.seesSetAside);

/** Returns when an entry expires, by its retention or its own expiry time, ms; null for never. */
export function endOf(
  { [RETENTION]: days }: WithRetention,
  { updatedAt, expiresAt }: { updatedAt: number; expiresAt: number | null },
): number | null {
  const retained = days === null ? null : updatedAt + days * DAY_MS;
  return retained === null || expiresAt === null ? (retained ?? expiresAt) : Math.min(retained, expiresAt);
}
