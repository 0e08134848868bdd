/** Policies as the form edits them. Converting them back and forth loses nothing. */
import type { JsonObject, JsonValue } from "../../../json.ts";
import { LIMIT_FORMS, LIMITS, type LimitName, type LimitsSetting } from "../../../screen/limits.ts";
import type { Kind, Mode } from "../../../screen/modes.ts";
import { allPolicies } from "../../../screen/policies.ts";
import type { SettingForm } from "../../../screen/policy.ts";
import type { ExceptionSetting, KindModes, PatternSetting, ScreeningSetting } from "../../../screen/screening.ts";
import { instant, localTime } from "../../ui/local-time.ts";

export interface PolicyDraft {
  /** By the policy's name: whether it is on, or its number as typed; empty for none. */
  settings: Readonly<Record<string, boolean | string>>;
  kinds: Readonly<Record<Kind, KindDraft>>;
  patterns: readonly Row<PatternTyped, PatternSetting>[];
  exceptions: readonly Row<ExceptionTyped, ExceptionSetting>[];
  /** The limits as typed; empty for none. */
  limits: Readonly<Record<LimitName, string>>;
}

export interface KindDraft {
  mode: Mode;
  /** The modes of single detectors. */
  detectors: Readonly<Record<string, Mode>>;
}

/** An item of a list. An unedited item is sent as it was. */
export interface Row<Typed, Setting> {
  id: number;
  typed: Typed;
  origin: Setting | null;
}

export interface PatternTyped {
  name: string;
  regex: string;
  ignore_case: boolean;
  mode: Mode;
  /** The prefixes, one in each line. */
  prefixes: string;
}

export interface ExceptionTyped {
  detector: string;
  /** How `text` is compared with a match. */
  how: "equals" | "ends_with";
  text: string;
  prefixes: string;
  reason: string;
  /** In the form of `datetime-local`. */
  expires_at: string;
}

/** The policies that are objects, and have controls of their own. */
const SCREENING = "screening";

/** Every limit, in the order of the list. */
export const LIMIT_NAMES = Object.keys(LIMIT_FORMS) as LimitName[];

/** The policies that have one control each. */
export const singlePolicies = () => allPolicies().filter(([name]) => name !== SCREENING && name !== LIMITS);

export function draftOfPolicies(policies: JsonObject): PolicyDraft {
  const { pii, secrets, patterns = [], exceptions = [] } = (policies[SCREENING] ?? {}) as ScreeningSetting;
  const limits = (policies[LIMITS] ?? {}) as LimitsSetting;
  return {
    settings: Object.fromEntries(singlePolicies().map(([name, { form }]) => [name, asTyped(form, policies[name])])),
    kinds: { pii: kindDraft(pii), secrets: kindDraft(secrets) },
    patterns: patterns.map((origin, id) => ({ id, origin, typed: typedPattern(origin) })),
    exceptions: exceptions.map((origin, id) => ({ id, origin, typed: typedException(origin) })),
    limits: limitsBy((name) => String(limits[name] ?? "")),
  };
}

/** Returns the policies of a draft. The daemon explains what is wrong with a text. */
export function toPolicies(draft: PolicyDraft): JsonObject {
  const single = singlePolicies()
    .map(([name]) => [name, asSetting(draft.settings[name] ?? "")])
    .filter(([, setting]) => setting !== "");
  const screening = screeningOf(draft);
  const limits = Object.entries(draft.limits).filter(([, typed]) => typed.trim() !== "");
  return {
    ...Object.fromEntries(single),
    ...(Object.keys(screening).length > 0 && { [SCREENING]: screening as JsonObject }),
    ...(limits.length > 0 && {
      [LIMITS]: Object.fromEntries(limits.map(([name, typed]) => [name, numberIn(typed.trim())])),
    }),
  };
}

const limitsBy = (typed: (name: LimitName) => string) =>
  Object.fromEntries(LIMIT_NAMES.map((name) => [name, typed(name)])) as Record<LimitName, string>;

function screeningOf({ kinds, patterns, exceptions }: PolicyDraft): ScreeningSetting {
  const [pii, secrets] = [kindModes(kinds.pii), kindModes(kinds.secrets)];
  return {
    ...(pii && { pii }),
    ...(secrets && { secrets }),
    ...(patterns.length > 0 && { patterns: patterns.map((row) => settingOf(row, typedPattern, patternOf)) }),
    ...(exceptions.length > 0 && { exceptions: exceptions.map((row) => settingOf(row, typedException, exceptionOf)) }),
  };
}

const kindDraft = ({ mode = "off", detectors = {} }: KindModes = {}): KindDraft => ({ mode, detectors });

function kindModes({ mode, detectors }: KindDraft): KindModes | null {
  const named = Object.keys(detectors).length > 0;
  if (mode === "off" && !named) return null;
  return { ...(mode !== "off" && { mode }), ...(named && { detectors }) };
}

const typedPattern = ({ name, regex, ignore_case = false, mode, prefixes = [] }: PatternSetting): PatternTyped => ({
  name,
  regex,
  ignore_case,
  mode,
  prefixes: prefixes.join("\n"),
});

const patternOf = ({ ignore_case, prefixes, ...rest }: PatternTyped): PatternSetting => ({
  ...rest,
  ...(ignore_case && { ignore_case }),
  ...prefixesIn(prefixes),
});

const typedException = (setting: ExceptionSetting): ExceptionTyped => {
  const { detector, equals, ends_with, prefixes = [], reason, expires_at = null } = setting;
  const how = equals === undefined ? "ends_with" : "equals";
  const text = equals ?? ends_with ?? "";
  return { detector, how, text, prefixes: prefixes.join("\n"), reason, expires_at: localTime(expires_at) };
};

function exceptionOf({ detector, how, text, prefixes, reason, expires_at }: ExceptionTyped): ExceptionSetting {
  const end = instant(expires_at);
  return { detector, [how]: text, ...prefixesIn(prefixes), reason, ...(end !== undefined && { expires_at: end }) };
}

function prefixesIn(typed: string): { prefixes?: string[] } {
  const prefixes = typed.split("\n").filter((line) => line !== "");
  return prefixes.length === 0 ? {} : { prefixes };
}

function settingOf<Typed, Setting>(
  { typed, origin }: Row<Typed, Setting>,
  shown: (setting: Setting) => Typed,
  made: (typed: Typed) => Setting,
): Setting {
  return origin !== null && JSON.stringify(shown(origin)) === JSON.stringify(typed) ? origin : made(typed);
}

/** Returns what is not a number as it is, so that the daemon explains what it accepts. */
const numberIn = (text: string): number | string => (/^\d+$/.test(text) ? Number(text) : text);

function asTyped(form: SettingForm, setting: JsonValue | undefined): boolean | string {
  if (form.type === "boolean") return setting === true;
  return setting === undefined || setting === null ? "" : String(setting);
}

const asSetting = (typed: boolean | string): JsonValue => (typeof typed === "boolean" ? typed : numberIn(typed.trim()));
