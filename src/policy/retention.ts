/** The policy `retention_days`: entries expire some days after their last write. */
import type { OtherPolicy } from "./policy.ts";

/** Longest retention, in days: a hundred years. */
const MAX_DAYS = 36_500;
const DAY_MS = 86_400_000;

/** Days that an entry lives after its last write; null keeps it for ever. */
export type RetentionDays = number | null;

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

/** Returns the time (ms) before which entries last written are expired; -1 when nothing expires. */
export const retentionCutoff = ({ [RETENTION]: days }: WithRetention, nowMs: number): number =>
  days === null ? -1 : Math.max(-1, nowMs - days * DAY_MS);

/** When an entry that was last written at `updatedAt` expires, ms; null when it does not expire. */
export const retentionEnd = ({ [RETENTION]: days }: WithRetention, updatedAt: number): number | null =>
  days === null ? null : updatedAt + days * DAY_MS;
