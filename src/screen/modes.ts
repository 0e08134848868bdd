/** What happens where a detector or a pattern matches: nothing, a report, a replacement, or a refusal. */

/** The modes, the weakest first. */
export const MODES = ["off", "audit", "redact", "block"] as const;

export type Mode = (typeof MODES)[number];

export const isMode = (value: unknown): value is Mode => (MODES as readonly unknown[]).includes(value);

export const isStronger = (a: Mode, b: Mode): boolean => MODES.indexOf(a) > MODES.indexOf(b);

export const strongerMode = (a: Mode, b: Mode): Mode => (isStronger(b, a) ? b : a);

/** The kinds of detectors, as the policy `screening` names them. */
export type Kind = "pii" | "secrets";
