/**
 * The policy `screening`: what happens when a detector or an own pattern matches, and which matches are exceptions. The
 * dashboard bundles it, so it imports no detectors. `rules.ts` compiles it.
 */
import type { Mode } from "./modes.ts";
import { strongerMode } from "./modes.ts";
import type { OtherPolicy } from "./policy.ts";

/** The modes of the detectors of one kind. A detector without a mode of its own has the mode of its kind. */
export type KindModes = { mode?: Mode; detectors?: { readonly [detector: string]: Mode } };

export type PatternSetting = {
  name: string;
  /** RE2 syntax. */
  regex: string;
  ignore_case?: boolean;
  mode: Mode;
  /** Only entries whose keys have one of these prefixes are matched; everything when absent. */
  prefixes?: readonly string[];
};

export type ExceptionSetting = {
  /** A detector, or the name of a pattern. */
  detector: string;
  /** Exactly one of the next two, compared with the matched text. */
  equals?: string;
  ends_with?: string;
  prefixes?: readonly string[];
  reason: string;
  /** RFC 3339. */
  expires_at?: string;
};

export type ScreeningSetting = {
  pii?: KindModes;
  secrets?: KindModes;
  patterns?: readonly PatternSetting[];
  exceptions?: readonly ExceptionSetting[];
};

/** The most patterns and exceptions, and the most characters of a pattern. */
export const MAX_PATTERNS = 32;
export const MAX_EXCEPTIONS = 256;
export const MAX_REGEX_LENGTH = 512;

/** Names of patterns. Findings and replacements show them. */
export const PATTERN_NAME = /^[a-z][a-z0-9_]{0,63}$/;

/** The policy that findings of patterns name. */
export const PATTERNS = "patterns";

const EXAMPLE: ScreeningSetting = { pii: { mode: "redact", detectors: { iban: "block" } } };

export const screening: OtherPolicy<ScreeningSetting | null> = {
  decide: null,
  form: { type: "object" },
  description:
    "What happens where a detector or a pattern matches (`off`, `audit`, `redact` or `block`), and exceptions: an object of pii, secrets, patterns and exceptions.",
  example: EXAMPLE,
  off: null,
  stricter: (a, b) => (a === null || b === null ? (a ?? b) : combined(a, b)),
  display: {
    label: "Screening",
    hint: 'Modes of detectors, patterns and exceptions, as JSON: {"pii": {"mode": "audit"}}. The modes are off, audit, redact and block.',
    badge: () => "screens by mode",
  },
};

/**
 * Returns the setting with the stronger mode of each detector, the patterns of both, and the exceptions of both sides.
 */
function combined(a: ScreeningSetting, b: ScreeningSetting): ScreeningSetting {
  const text = (setting: object) => JSON.stringify(setting);
  const [patterns, exceptions] = [(b.patterns ?? []).map(text), (b.exceptions ?? []).map(text)];
  const both = [...(a.patterns ?? []).filter((one) => !patterns.includes(text(one))), ...(b.patterns ?? [])];
  const agreed = (a.exceptions ?? []).filter((one) => exceptions.includes(text(one)));
  return {
    ...((a.pii ?? b.pii) && { pii: combinedKind(a.pii, b.pii) }),
    ...((a.secrets ?? b.secrets) && { secrets: combinedKind(a.secrets, b.secrets) }),
    ...(both.length > 0 && { patterns: both }),
    ...(agreed.length > 0 && { exceptions: agreed }),
  };
}

function combinedKind(a: KindModes = {}, b: KindModes = {}): KindModes {
  const names = new Set([...Object.keys(a.detectors ?? {}), ...Object.keys(b.detectors ?? {})]);
  const modeIn = (kind: KindModes, name: string): Mode => kind.detectors?.[name] ?? kind.mode ?? "off";
  const mode = strongerMode(a.mode ?? "off", b.mode ?? "off");
  const modes = [...names].map((name) => [name, strongerMode(modeIn(a, name), modeIn(b, name))] as const);
  return modes.length === 0 ? { mode } : { mode, detectors: Object.fromEntries(modes) };
}
