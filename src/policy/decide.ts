/**
 * Decides about content under all policies. The decision is a pure function of settings and content; writes,
 * restores and `governd scan` share it.
 */

import type { JsonObject, JsonValue } from "../json.ts";
import type { Hit } from "./check.ts";
import { BUDGET, DETECTORS, detectorWords } from "./detectors.ts";
import { joinedParts } from "./parts.ts";
import {
  contentPolicies,
  examplePolicies,
  type PolicyName,
  type PolicySettings,
  screeningPolicies,
} from "./policies.ts";
import type { Content, Finding } from "./policy.ts";
import { buildDictionary, type Dictionary } from "./scan.ts";
import { screen } from "./screen.ts";

export type { Content, Finding } from "./policy.ts";

export interface Refused {
  allowed: false;
  /** `policy:` and the name of the last policy of the list that objects. */
  blockedBy: string;
  /** Says what was found and where, for people. Never contains the text. */
  message: string;
  /** What every policy objects to. */
  findings: Finding[];
}

export type Decision = { allowed: true } | Refused;

/**
 * Decides about key, value and metadata of an entry. `field` of a finding is a path in which a metadata name that
 * itself matched is `*`: a name can be the personal data.
 */
export function decide(policies: PolicySettings, content: Content): Decision {
  const findings: Finding[] = [];
  let screening = 0;
  let bit = 1;
  for (const [name, policy] of contentPolicies()) {
    const setting = policies[name];
    if (policy.decide === "detectors") {
      if (setting !== policy.off) screening |= bit;
      bit <<= 1;
    } else if (setting !== policy.off) {
      for (const finding of policy.decide(setting, content)) findings.push({ policy: name, ...finding });
    }
  }
  if (screening !== 0) screenFields(content, dictionaryOf(screening), findings);
  return findings.length === 0 ? ALLOWED : refuse(findings);
}

const ALLOWED: Decision = { allowed: true };

/**
 * Returns what an event says of a text that its request names and that may not be stored, such as a key: the text, or
 * `{"redacted": true}` when a policy objects to it. `policies` are those of the agent, null for an agent that never
 * began. Without them, no agent is known, and every policy counts.
 */
export function recorded(
  name: string,
  text: string,
  policies: PolicySettings | null = examplePolicies(screeningPolicies()),
): JsonObject {
  const isAllowed =
    policies === null || text === "" || decide(policies, { key: text, value: "", metadata: {} }).allowed;
  return isAllowed ? { [name]: text } : { redacted: true };
}

/** Dictionaries by the set of screening policies that are on, one bit each; built when first needed. */
const dictionaries: (PolicyDictionary | undefined)[] = [];

interface PolicyDictionary extends Dictionary {
  /** The policy that a text which costs too much is blocked by. */
  strictest: PolicyName;
}

function dictionaryOf(screening: number): PolicyDictionary {
  const known = dictionaries[screening];
  if (known !== undefined) return known;
  // In reverse order of the list, since the last policy takes precedence in `blockedBy`.
  const policies = screeningPolicies()
    .filter((_, i) => (screening & (1 << i)) !== 0)
    .reverse();
  const built = { ...buildDictionary(policies), strictest: policies[0] as PolicyName };
  dictionaries[screening] = built;
  return built;
}

/** One text to screen. */
interface Field {
  /** The path's parts: `["value"]`, `["metadata", "user", "ssn"]`; array positions are numbers in decimal. */
  path: readonly string[];
  text: string;
  /** The label of the text: the entry's key, or the metadata names above it. */
  context: string;
  /** The text is itself the last name in `path`. */
  isName: boolean;
  /** What else the text may be as the first item of an array of parts. A finding in it covers the text. */
  joined?: readonly string[];
}

/** The fields of some content, in the order in which findings are reported: key, value, metadata. */
function fieldsOf({ key, value, metadata, valueName = "value" }: Content): Field[] {
  const fields: Field[] = [
    { path: ["key"], text: key, context: "", isName: false },
    { path: [valueName], text: value, context: key, isName: false },
  ];
  collect(metadata, ["metadata"], "", fields);
  return fields;
}

function collect(value: JsonValue, path: readonly string[], context: string, fields: Field[]): void {
  if (typeof value === "string" || typeof value === "number") {
    // A card number without quotes is still a card number.
    fields.push({ path, text: String(value), context, isName: false });
  } else if (Array.isArray(value)) {
    const joined = joinedParts(value);
    const first = fields.length;
    for (const [index, item] of value.entries()) collect(item, [...path, String(index)], context, fields);
    if (joined.length > 0) (fields[first] as Field).joined = joined;
  } else if (value !== null && typeof value === "object") {
    for (const name of Object.keys(value)) {
      const below = [...path, name];
      fields.push({ path: below, text: name, context: "", isName: true });
      collect(value[name] as JsonValue, below, context === "" ? name : `${context} ${name}`, fields);
    }
  }
}

function screenFields(content: Content, dictionary: PolicyDictionary, findings: Finding[]): void {
  const matched: { field: Field; hits: readonly Hit[] }[] = [];
  for (const field of fieldsOf(content)) {
    const hits = screenField(field, dictionary);
    if (hits.length > 0) matched.push({ field, hits });
  }
  if (matched.length === 0) return;
  const names = new Set(matched.filter(({ field }) => field.isName).map(({ field }) => pathKey(field.path)));
  for (const { field, hits } of matched) {
    const path = shownPath(field.path, names);
    for (const hit of hits) findings.push(findingOf(hit, path, dictionary.strictest));
  }
}

function screenField({ text, context, joined }: Field, dictionary: PolicyDictionary): readonly Hit[] {
  const hits = screen(text, context, dictionary);
  if (joined === undefined) return hits;
  const inJoined = new Set(joined.flatMap((whole) => screen(whole, "", dictionary).map(({ detector }) => detector)));
  return [...hits, ...[...inJoined].map((detector) => ({ detector, start: 0, end: text.length }))];
}

function findingOf({ detector, start, end }: Hit, field: string, strictest: PolicyName): Finding {
  if (detector === BUDGET) return { policy: strictest, detector, field, start, end };
  const { policy, tier } = DETECTORS[detector];
  return tier === null ? { policy, detector, field, start, end } : { policy, detector, tier, field, start, end };
}

/** The path as shown, with `*` for each name that matched. */
function shownPath(path: readonly string[], matchedNames: ReadonlySet<string>): string {
  if (matchedNames.size === 0) return path.join(".");
  return path.map((part, i) => (matchedNames.has(pathKey(path.slice(0, i + 1))) ? "*" : part)).join(".");
}

const pathKey = (path: readonly string[]): string => JSON.stringify(path);

function refuse(findings: Finding[]): Refused {
  const objecting = contentPolicies().filter(([name]) => findings.some(({ policy }) => policy === name));
  const [blockedBy] = objecting.at(-1) as [PolicyName, unknown];
  return { allowed: false, blockedBy: `policy:${blockedBy}`, message: describe(findings), findings };
}

/** The most findings that the message names; it counts the others. */
const NAMED_FINDINGS = 5;

function describe(findings: readonly Finding[]): string {
  const policies = new Map(contentPolicies());
  const forbidden = [...new Set(findings.map(({ policy }) => policies.get(policy as PolicyName)?.forbids))];
  const places = findings.map(({ detector, field }) => `${detectorWords(detector)} in ${place(field)}`);
  const kinds = [...new Set(places)];
  const named = kinds.slice(0, NAMED_FINDINGS).join(", ");
  const more = kinds.length > NAMED_FINDINGS ? ` and ${kinds.length - NAMED_FINDINGS} more` : "";
  return `Blocked, nothing was stored: the agent's policy does not allow ${forbidden.join(" and ")}. Found ${named}${more}. Remove it and write again.`;
}

const place = (field: string): string => (field.startsWith("metadata") ? field : `the ${field}`);

/** Uses the tables that every text needs, and those for other alphabets and long tokens. */
const SAMPLE: Content = {
  key: "note/1",
  value: "Привет. The customer in Köln asked on Monday about invoice 2024-1093, see build 7f3c9ad1e2b4.",
  metadata: {},
};

/**
 * Builds the tables that the first content would otherwise wait for, 20 to 60 ms each: for all screening policies
 * together, which most agents have, then for each of them. `pause` and `later` are called before the first and each
 * further one.
 */
export async function buildScreeningTables(
  pause: () => Promise<unknown>,
  later: () => Promise<unknown>,
): Promise<void> {
  const names = screeningPolicies();
  await pause();
  decide(examplePolicies(names), SAMPLE);
  for (const name of names) {
    await later();
    decide(examplePolicies([name]), SAMPLE);
  }
}
