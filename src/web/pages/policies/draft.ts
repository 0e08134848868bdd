/** Policies as the form edits them. Converting them back and forth loses nothing. */
import type { JsonObject, JsonValue } from "../../../json.ts";
import type { Kind, Mode } from "../../../policy/modes.ts";
import { allPolicies } from "../../../policy/policies.ts";
import type { SettingForm } from "../../../policy/policy.ts";
import type { ExceptionSetting, KindModes, PatternSetting, ScreeningSetting } from "../../../policy/screening.ts";
import { parseObject } from "../../ui/json-text.ts";
import { instant, localTime } from "../../ui/local-time.ts";

export interface PolicyDraft {
  /** By the policy's name: whether it is on, or its number or JSON text as typed, empty for none. */
  settings: Readonly<Record<string, boolean | string>>;
  kinds: Readonly<Record<Kind, KindDraft>>;
  patterns: readonly Row<PatternTyped, PatternSetting>[];
  exceptions: readonly Row<ExceptionTyped, ExceptionSetting>[];
}

export interface KindDraft {
  mode: Mode;
  /** Those of single detectors. */
  detectors: Readonly<Record<string, Mode>>;
}

/** An item of a list. One that was not edited is sent as it was. */
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
  /** One in each line. */
  prefixes: string;
}

export interface ExceptionTyped {
  detector: string;
  /** What `text` is compared with. */
  how: "equals" | "ends_with";
  text: string;
  prefixes: string;
  reason: string;
  /** As `datetime-local` has it. */
  expires_at: string;
}

/** The policy that has controls of its own; the others have one each. */
const SCREENING = "screening";

/** The policies that have one control each. */
export const singlePolicies = () => allPolicies().filter(([name]) => name !== SCREENING);

export function draftOfPolicies(policies: JsonObject): PolicyDraft {
  const { pii, secrets, patterns = [], exceptions = [] } = (policies[SCREENING] ?? {}) as ScreeningSetting;
  return {
    settings: Object.fromEntries(singlePolicies().map(([name, { form }]) => [name, asTyped(form, policies[name])])),
    kinds: { pii: kindDraft(pii), secrets: kindDraft(secrets) },
    patterns: patterns.map((origin, id) => ({ id, origin, typed: typedPattern(origin) })),
    exceptions: exceptions.map((origin, id) => ({ id, origin, typed: typedException(origin) })),
  };
}

/** Returns the policies of a draft. @throws {ApiProblem} when a text cannot be sent */
export function toPolicies(draft: PolicyDraft): JsonObject {
  const single = singlePolicies()
    .map(([name, { form, display }]) => [name, asSetting(name, form, display.label, draft.settings[name] ?? "")])
    .filter(([, setting]) => setting !== "");
  const screening = screeningOf(draft);
  return {
    ...Object.fromEntries(single),
    ...(Object.keys(screening).length > 0 && { [SCREENING]: screening as JsonObject }),
  };
}

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
  if (setting === undefined || setting === null) return "";
  return form.type === "object" ? JSON.stringify(setting, null, 2) : String(setting);
}

/** @throws {ApiProblem} when the text of an object is none */
function asSetting(name: string, form: SettingForm, label: string, typed: boolean | string): JsonValue {
  if (typeof typed === "boolean") return typed;
  if (form.type !== "object" || typed.trim() === "") return numberIn(typed.trim());
  return parseObject(`policies.${name}`, `"${label}"`, typed, "{}");
}
