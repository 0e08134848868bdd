/** The policy `history_days`: versions that ended stay readable for some days. */
import type { OtherPolicy } from "./policy.ts";

/** Longest history, in days: ten years. */
const MAX_DAYS = 3_650;
/** The days when neither a config nor the workspace sets them. */
const DEFAULT_DAYS = 30;
const DAY_MS = 86_400_000;

/** The days that a version is kept after its end; null when nobody set them. */
type HistoryDays = number | null;

export const history: OtherPolicy<HistoryDays> = {
  decide: null,
  form: { type: "integer", minimum: 0, maximum: MAX_DAYS },
  description: `Days that an overwritten or deleted version stays readable: an integer from 0 to ${MAX_DAYS}; ${DEFAULT_DAYS} when nobody sets it.`,
  example: 90,
  off: null,
  // The larger number, which keeps what both demand.
  stricter: (a, b) => (a === null || b === null ? (a ?? b) : Math.max(a, b)),
  display: {
    label: "Keep history for (days)",
    hint: `Overwritten and deleted versions stay readable so long. 0: they are gone at once. Empty: ${DEFAULT_DAYS} days, or what the workspace asks for.`,
    badge: (days) => (days === 1 ? "1 day of history" : `${days} days of history`),
  },
};

/** Its member in the `policies` of a config. */
export const HISTORY = "history_days";

/** The part of an agent's settings that concerns history. */
export interface WithHistory {
  readonly [HISTORY]: HistoryDays;
}

/** Returns the days of history in force. */
export const historyDays = ({ [HISTORY]: days }: WithHistory): number => days ?? DEFAULT_DAYS;

/** Whether a version that an operation ends is kept, also when no checkpoint sees it. */
export const keepsHistory = (policies: WithHistory): boolean => historyDays(policies) > 0;

/** Returns the time (ms): versions that ended before it are not readable any more. Without a history, none that ended is. */
export function historyCutoff(policies: WithHistory, nowMs: number): number {
  const days = historyDays(policies);
  return days === 0 ? Number.MAX_SAFE_INTEGER : nowMs - days * DAY_MS;
}
