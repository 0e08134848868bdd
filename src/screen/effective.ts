/** The policies in force for an agent at a time, member by member, each with its origin: the workspace policies or the config. */
import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { HISTORY, historyDays } from "./history.ts";
import { isStronger, type Mode, strongerMode } from "./modes.ts";
import { allPolicies, type PolicySettings } from "./policies.ts";
import { modeOf } from "./rules.ts";
import type { ExceptionSetting, KindModes, ScreeningSetting } from "./screening.ts";
import { effectivePolicies, type WorkspacePolicies } from "./workspace-policies.ts";

type Origin = "floor" | "config" | "default";

interface InForce {
  /** Policies in the form of a config, without policies that are off. */
  policies: JsonObject;
  /**
   * Origins by path: `screening.pii.mode`, `screening.patterns[0]`. A member that both demand is from the workspace policies, which
   * no config can weaken. What neither sets and is in force all the same is a default.
   */
  from: Record<string, Origin>;
}

/** Returns the policies in force at a time, ms, for an agent whose config has the settings `own`. */
export function inForce(workspacePolicies: WorkspacePolicies, own: PolicySettings, nowMs: number): InForce {
  const combined = effectivePolicies(workspacePolicies, own);
  const policies = shown(combined, nowMs);
  const ofWorkspacePolicies = shown(workspacePolicies.policies, nowMs);
  const demands = new Map(membersOf("", ofWorkspacePolicies).map(([path, value]) => [demand(path, value), path]));
  const named = new Set(demands.values());
  const isFromWorkspace = (path: string, value: JsonValue): boolean =>
    demands.has(demand(path, value)) ||
    // In the workspace policies, a detector without a mode of its own has the mode of its kind.
    (!named.has(path) && demands.has(demand(path.replace(/\.detectors\..*/, ".mode"), value)));
  const from = membersOf("", policies).map(([path, value]): [string, Origin] => [
    path,
    isFromWorkspace(path, value) ? "floor" : "config",
  ]);
  const isDefault = combined[HISTORY] === null;
  return {
    policies: { ...policies, [HISTORY]: historyDays(combined) },
    from: { ...Object.fromEntries(from), ...(isDefault && { [HISTORY]: "default" }) },
  };
}

/** Returns a key for a member and its value. The position of an item in its list does not matter. */
const demand = (path: string, value: JsonValue): string => `${path.replace(/\[\d+\]$/, "")} ${JSON.stringify(value)}`;

/** Returns the members that are not objects, and the items of lists, each with its path. */
function membersOf(path: string, value: JsonValue): [path: string, value: JsonValue][] {
  if (Array.isArray(value)) return value.map((item, index) => [`${path}[${index}]`, item]);
  if (!isJsonObject(value)) return [[path, value]];
  return Object.entries(value).flatMap(([name, member]) => membersOf(path === "" ? name : `${path}.${name}`, member));
}

/** Returns settings in the form of a config, without what is off, which nobody demands. */
function shown(settings: PolicySettings, nowMs: number): JsonObject {
  const set = allPolicies().filter(([name, { off }]) => settings[name] !== off);
  const policies = Object.fromEntries(set.map(([name]) => [name, settings[name]])) as JsonObject;
  const { layers, screening } = settings;
  if (screening !== null) {
    policies.screening = {
      ...kindsIn(screening),
      patterns: (screening.patterns ?? []).filter(({ mode }) => mode !== "off"),
      exceptions: layers === undefined ? exceptionsIn(settings, nowMs) : exceptionsOf(layers, nowMs),
    } as unknown as JsonObject;
  }
  return withoutEmpty(policies);
}

/** Returns the modes of both kinds. Where the kind is off, detectors that are off differ in nothing. */
function kindsIn({ pii = {}, secrets = {} }: ScreeningSetting): JsonObject {
  const ofKind = ({ mode = "off", detectors = {} }: KindModes) => ({
    ...(mode !== "off" && { mode }),
    detectors: Object.fromEntries(Object.entries(detectors).filter(([, own]) => own !== "off" || mode !== "off")),
  });
  return { pii: ofKind(pii), secrets: ofKind(secrets) };
}

/** Returns an object without members that are empty objects or lists, at any depth. */
function withoutEmpty(value: JsonObject): JsonObject {
  const members = Object.entries(value).map(([name, member]): [string, JsonValue] => [
    name,
    isJsonObject(member) ? withoutEmpty(member) : member,
  ]);
  return Object.fromEntries(
    members.filter(
      ([, member]) => !(typeof member === "object" && member !== null && Object.keys(member).length === 0),
    ),
  );
}

/** Returns the exceptions of several settings that weaken the settings' combined demands at a time. */
function exceptionsOf(layers: readonly PolicySettings[], nowMs: number): ExceptionSetting[] {
  const all = new Map(layers.flatMap((one) => exceptionsIn(one, nowMs)).map((one) => [JSON.stringify(one), one]));
  return [...all.values()].filter((exception) => {
    const strict = layers.filter((layer) => !exceptionsIn(layer, nowMs).some((one) => overlap(one, exception)));
    const left = strict.map((layer) => demanded(layer, exception.detector)).reduce(strongerMode, "off");
    const before = layers.map((layer) => demanded(layer, exception.detector)).reduce(strongerMode, "off");
    return isStronger(before, left);
  });
}

const exceptionsIn = ({ screening }: PolicySettings, nowMs: number): readonly ExceptionSetting[] =>
  (screening?.exceptions ?? []).filter(({ expires_at: end }) => end === undefined || nowMs < Date.parse(end));

/** Reports whether a match can be an exception by both. Each then weakens what its own side demands. */
function overlap(a: ExceptionSetting, b: ExceptionSetting): boolean {
  const [ofA, ofB] = [a.equals ?? a.ends_with ?? "", b.equals ?? b.ends_with ?? ""];
  const isSameText =
    ofA === ofB || (b.equals === undefined && ofA.endsWith(ofB)) || (a.equals === undefined && ofB.endsWith(ofA));
  const [inA, inB] = [a.prefixes ?? [""], b.prefixes ?? [""]];
  const isSameKey = inA.some((one) => inB.some((other) => one.startsWith(other) || other.startsWith(one)));
  return a.detector === b.detector && isSameText && isSameKey;
}

/** Returns the strongest mode of a detector, or of the patterns with a name. */
function demanded(settings: PolicySettings, name: string): Mode {
  const patterns = (settings.screening?.patterns ?? []).filter((one) => one.name === name);
  return patterns.map(({ mode }) => mode).reduce(strongerMode, modeOf(settings, name));
}
