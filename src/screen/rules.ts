/** The settings of an agent's policies, compiled for screening: which detectors are active, and what a match means. */
import { BUDGET, DETECTORS, type DetectorName } from "./detectors.ts";
import { isStronger, type Kind, type Mode, strongerMode } from "./modes.ts";
import { type OwnPattern, PatternSet } from "./patterns/pattern-set.ts";
import { contentPolicies, type PolicyName, type PolicySettings } from "./policies.ts";
import type { AnySetting, ContentPolicy } from "./policy.ts";
import { type Dictionary, dictionaryFor } from "./scan.ts";
import {
  type ExceptionSetting,
  type KindModes,
  PATTERNS,
  type PatternSetting,
  type ScreeningSetting,
} from "./screening.ts";

/** An exception, with the time at which it ends, ms; infinite for never. */
type Exception = ExceptionSetting & { untilMs: number };

/** A policy that decides with its own function, and its setting. */
interface OwnRule {
  decide: Exclude<ContentPolicy<AnySetting>["decide"], "detectors">;
  setting: AnySetting;
}

/** The demands of one of the settings that are in force together. */
export interface Layer {
  /** The modes of the active detectors. */
  modes: ReadonlyMap<string, Mode>;
  /** The exceptions by the name of the detector or pattern. */
  exceptions: ReadonlyMap<string, readonly Exception[]>;
}

export interface Rules {
  /** The active detectors; null for none. */
  dictionary: Dictionary | null;
  /** The names of all active detectors and patterns. */
  names: ReadonlySet<string>;
  patterns: PatternSet | null;
  layers: readonly Layer[];
  /** The policies that are on and decide with their own function. */
  others: readonly (readonly [PolicyName, OwnRule])[];
  /** The policy that a text which costs too much is attributed to, with the strongest mode of all. */
  budget: { policy: string; mode: Mode };
}

/** The kinds of detectors, by the policy that makes all detectors of the kind block. */
const KINDS = new Map(contentPolicies().map(([name, { kind }]) => [name, kind]));

const known = new WeakMap<PolicySettings, Rules>();

/** Returns the rules of some settings. The same object is compiled only once. */
export function rulesOf(policies: PolicySettings): Rules {
  const found = known.get(policies);
  if (found !== undefined) return found;
  const rules = compile(policies);
  known.set(policies, rules);
  return rules;
}

function compile(policies: PolicySettings): Rules {
  const settings = policies.layers ?? [policies];
  const layers = settings.map((one): Layer => ({ modes: modesOf(one), exceptions: exceptionsOf(one.screening) }));
  const patterns = settings.flatMap(({ screening }, layer) =>
    (screening?.patterns ?? []).flatMap((one) => (one.mode === "off" ? [] : [{ ...one, layer }])),
  );
  const modes = layers.map((one) => one.modes).reduce(strongerModes);
  const others = contentPolicies().flatMap(([name, { decide, off }]) => {
    const setting = policies[name] as AnySetting;
    return decide === "detectors" || setting === off ? [] : [[name, { decide, setting }] as const];
  });
  const budget = strongestOf(modes, patterns);
  return {
    dictionary: modes.size === 0 ? null : dictionaryOf(modes),
    names: new Set([...modes.keys(), ...patterns.map(({ name }) => name), BUDGET]),
    patterns: patterns.length === 0 ? null : patternSetOf(patterns),
    layers,
    others,
    budget,
  };
}

/** Returns the modes of the active detectors, in the order of the list. */
function modesOf(policies: PolicySettings): ReadonlyMap<string, Mode> {
  const names = Object.keys(DETECTORS) as DetectorName[];
  return new Map(names.map((name) => [name, modeOf(policies, name)] as const).filter(([, mode]) => mode !== "off"));
}

function strongerModes(a: ReadonlyMap<string, Mode>, b: ReadonlyMap<string, Mode>): ReadonlyMap<string, Mode> {
  const names = Object.keys(DETECTORS).filter((name) => a.has(name) || b.has(name));
  return new Map(names.map((name) => [name, strongerMode(a.get(name) ?? "off", b.get(name) ?? "off")] as const));
}

/** Returns the mode of a detector, `off` for any other name. A policy that blocks overrides a weaker mode. */
export function modeOf(policies: PolicySettings, detector: string): Mode {
  if (!Object.hasOwn(DETECTORS, detector)) return "off";
  const { policy } = DETECTORS[detector as DetectorName];
  if (policies[policy] === true) return "block";
  const kind: KindModes = policies.screening?.[KINDS.get(policy) as Kind] ?? {};
  return kind.detectors?.[detector] ?? kind.mode ?? "off";
}

function strongestOf(modes: ReadonlyMap<string, Mode>, patterns: readonly PatternSetting[]): Rules["budget"] {
  // Of equally strong modes the last counts, since a refusal names its policy first.
  const all = [
    ...patterns.map(({ mode }) => ({ policy: PATTERNS, mode })),
    ...Array.from(modes, ([name, mode]) => ({ policy: DETECTORS[name as DetectorName].policy, mode })),
  ];
  const none: Rules["budget"] = { policy: PATTERNS, mode: "off" };
  return all.reduce((strongest, one) => (isStronger(strongest.mode, one.mode) ? strongest : one), none);
}

function exceptionsOf(screening: ScreeningSetting | null): Layer["exceptions"] {
  const exceptions = (screening?.exceptions ?? []).map((one) => {
    const untilMs = one.expires_at === undefined ? Number.POSITIVE_INFINITY : Date.parse(one.expires_at);
    return { ...one, untilMs };
  });
  return Map.groupBy(exceptions, ({ detector }) => detector);
}

/** The most dictionaries and pattern sets that are kept. The oldest is dropped first. */
const MOST_KEPT = 32;
const dictionaries = new Map<string, Dictionary>();
const patternSets = new Map<string, PatternSet>();

/** Dictionaries depend on which detectors are active and which of them block. They remember texts without findings. */
function dictionaryOf(modes: ReadonlyMap<string, Mode>): Dictionary {
  const name = [...modes].map(([detector, mode]) => `${detector} ${mode === "block"}`).join();
  return kept(dictionaries, name, () => {
    const looking = [...modes.keys()] as DetectorName[];
    return dictionaryFor(new Set(looking), new Set(looking.filter((one) => modes.get(one) === "block")));
  });
}

const patternSetOf = (patterns: readonly OwnPattern[]): PatternSet =>
  kept(patternSets, JSON.stringify(patterns), () => new PatternSet(patterns));

function kept<V>(values: Map<string, V>, name: string, make: () => V): V {
  const value = values.get(name) ?? make();
  values.delete(name);
  values.set(name, value);
  const [oldest] = values.keys();
  if (values.size > MOST_KEPT && oldest !== undefined) values.delete(oldest);
  return value;
}
