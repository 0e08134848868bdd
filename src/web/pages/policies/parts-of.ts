/** The parts of policies, each of which can be put into the policies of a configuration without the others. */
import type { JsonObject, JsonValue } from "../../../json.ts";
import { LIMIT_FORMS, LIMITS, type LimitName, type LimitsSetting } from "../../../screen/limits.ts";
import { contentPolicies } from "../../../screen/policies.ts";
import type { ExceptionSetting, KindModes, PatternSetting, ScreeningSetting } from "../../../screen/screening.ts";
import { singlePolicies } from "./draft.ts";
import { detectorName, exceptionWords } from "./words.ts";

export interface PolicyPart {
  id: string;
  label: string;
  /** Whether it demands something. */
  isOn: boolean;
  /** Returns policies with this part; the rest of them stays. */
  put(policies: JsonObject): JsonObject;
}

export function partsOf(policies: JsonObject): PolicyPart[] {
  const { patterns = [], exceptions = [], ...kinds } = (policies.screening ?? {}) as ScreeningSetting;
  const single = singlePolicies().flatMap(([name, { display, off }]): PolicyPart[] => {
    const setting = policies[name];
    if (setting === undefined) return [];
    const shown = typeof setting === "boolean" ? (setting ? "on" : "off") : JSON.stringify(setting);
    const put = (into: JsonObject) => ({ ...into, [name]: setting });
    return [{ id: name, label: `${display.label}: ${shown}`, isOn: setting !== off, put }];
  });
  const modes = contentPolicies().flatMap(([, { kind, forbids }]): PolicyPart[] => {
    const setting = kind === null ? undefined : kinds[kind];
    if (kind === null || setting === undefined) return [];
    const put = screening((into) => ({ ...into, [kind]: setting }));
    return [{ id: kind, label: `Modes of ${forbids}: ${modesInWords(setting)}`, isOn: true, put }];
  });
  const limits = Object.entries((policies[LIMITS] ?? {}) as LimitsSetting).map(([name, most]): PolicyPart => {
    const put = (into: JsonObject) => ({
      ...into,
      [LIMITS]: { ...(into[LIMITS] as JsonObject | undefined), [name]: most },
    });
    return { id: `limit ${name}`, label: `${LIMIT_FORMS[name as LimitName].words}: ${most}`, isOn: true, put };
  });
  return [...single, ...limits, ...modes, ...patterns.map(patternPart), ...exceptions.map(exceptionPart)];
}

/** Returns a change of policies that changes only their screening. */
const screening = (change: (screening: ScreeningSetting) => ScreeningSetting) => (policies: JsonObject) => ({
  ...policies,
  screening: change((policies.screening ?? {}) as ScreeningSetting) as JsonValue,
});

function modesInWords({ mode = "off", detectors = {} }: KindModes): string {
  const single = Object.entries(detectors).map(([name, own]) => `${detectorName(name)} ${own}`);
  return [mode, ...single].join(", ");
}

function patternPart(pattern: PatternSetting): PolicyPart {
  const put = screening((into) => ({
    ...into,
    patterns: replaced(into.patterns ?? [], pattern, ({ name }) => name === pattern.name),
  }));
  return { id: `pattern ${pattern.name}`, label: `Pattern ${pattern.name}: ${pattern.mode}`, isOn: true, put };
}

function exceptionPart(exception: ExceptionSetting): PolicyPart {
  const about = (one: ExceptionSetting) => JSON.stringify([one.detector, one.equals, one.ends_with, one.prefixes]);
  const put = screening((into) => ({
    ...into,
    exceptions: replaced(into.exceptions ?? [], exception, (one) => about(one) === about(exception)),
  }));
  return { id: `exception ${about(exception)}`, label: exceptionWords(exception), isOn: true, put };
}

/** Returns a list with an item in place of the one that is about the same, or at its end. */
function replaced<Item>(items: readonly Item[], item: Item, isSame: (one: Item) => boolean): Item[] {
  const at = items.findIndex(isSame);
  return at === -1 ? [...items, item] : items.with(at, item);
}
