/** The policy `limits`: how fast and how much an agent may write. The dashboard bundles it. */
import type { OtherPolicy } from "./policy.ts";

export type LimitsSetting = { writes_per_minute?: number; value_bytes?: number; entries?: number };

export type LimitName = keyof LimitsSetting;

/** Its member in the `policies` of a config. */
export const LIMITS = "limits";

/** Every limit: its largest value, and what it limits, in words. */
export const LIMIT_FORMS: Readonly<Record<LimitName, { most: number; words: string }>> = {
  writes_per_minute: { most: 1_000_000, words: "Most entries that are written within 60 seconds" },
  value_bytes: { most: 1_048_576, words: "Most bytes of a value, as UTF-8" },
  entries: { most: 1_000_000_000, words: "Most entries" },
};

export const limits: OtherPolicy<LimitsSetting | null> = {
  decide: null,
  form: { type: "object" },
  description: "How fast and how much an agent may write: an object of writes_per_minute, value_bytes and entries.",
  example: { writes_per_minute: 600, value_bytes: 65_536, entries: 100_000 },
  off: null,
  stricter: (a, b) => (a === null || b === null ? (a ?? b) : combined(a, b)),
  display: {
    label: "Limits",
    hint: 'Writes of an agent beyond them are refused. As JSON: {"writes_per_minute": 600, "value_bytes": 65536, "entries": 100000}.',
    badge: () => "limits writes",
  },
};

function combined(a: LimitsSetting, b: LimitsSetting): LimitsSetting {
  const names = Object.keys(LIMIT_FORMS) as LimitName[];
  const both = names.map((name) => [name, Math.min(a[name] ?? NONE, b[name] ?? NONE)] as const);
  return Object.fromEntries(both.filter(([, most]) => most < NONE));
}

const NONE = Number.POSITIVE_INFINITY;
