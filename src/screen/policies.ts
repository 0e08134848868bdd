/**
 * Every policy, described once. The checks of configs, the decisions about content, the API's document, the metrics and
 * the dashboard read this list. The dashboard bundles it, so it imports no detectors.
 */
import type { JsonObject, JsonValue } from "../json.ts";
import { CHECKPOINT_EVERY, CHECKPOINTS_KEPT, checkpointEvery, checkpointsKept } from "./checkpoint-schedule.ts";
import { HISTORY, history } from "./history.ts";
import { LIMITS, limits } from "./limits.ts";
import type { AnySetting, ContentPolicy, Policy } from "./policy.ts";
import { RETENTION, retention } from "./retention.ts";
import { PATTERNS, screening } from "./screening.ts";

/** A policy that is on or off, and is enforced by detectors. */
const blocking = (
  facts: Pick<ContentPolicy<boolean>, "kind" | "forbids" | "description" | "display">,
): ContentPolicy<boolean> => ({
  decide: "detectors",
  form: { type: "boolean" },
  example: true,
  off: false,
  stricter: (a, b) => a || b,
  ...facts,
});

export const POLICIES = {
  block_pii: blocking({
    kind: "pii",
    forbids: "personal data",
    description: "Block writes that hold personal data: true or false.",
    display: {
      label: "Block personal data",
      hint: "Email and postal addresses, phone, card, account and identity numbers, and similar data. A refused write changes nothing.",
      badge: () => "blocks personal data",
    },
  }),
  block_secrets: blocking({
    kind: "secrets",
    forbids: "secrets",
    description: "Block writes that hold secrets: true or false.",
    display: { label: "Block secrets", hint: "Keys, tokens, passwords, private keys.", badge: () => "blocks secrets" },
  }),
  [RETENTION]: retention,
  [HISTORY]: history,
  [CHECKPOINT_EVERY]: checkpointEvery,
  [CHECKPOINTS_KEPT]: checkpointsKept,
  screening,
  [LIMITS]: limits,
} satisfies Readonly<Record<string, Policy<AnySetting>>>;

/**
 * When several policies find something, `blocked_by` names the first of these. Policies that are not in the list come
 * last. Refusals that do not depend on the content come before all of them (`core/writer/admission.ts`).
 */
export const PRECEDENCE: readonly string[] = ["block_secrets", "block_pii", PATTERNS];

export type PolicyName = keyof typeof POLICIES;

/** The setting of each policy. */
export type PolicySettings = { readonly [N in PolicyName]: (typeof POLICIES)[N]["off"] } & {
  /**
   * The combined settings, when these settings combine several, each with its own exceptions and patterns. An exception
   * weakens only the demands of the settings that contain it.
   */
  readonly layers?: readonly PolicySettings[];
};

/** The `policies` of a config, as clients send it. */
export type PolicyMembers = { [N in PolicyName]?: (typeof POLICIES)[N]["example"] };

type Named<P> = [name: PolicyName, policy: P];

/** Every policy with its name, in the order of the list. */
export const allPolicies = (): Named<Policy<AnySetting>>[] => Object.entries(POLICIES) as Named<Policy<AnySetting>>[];

// Made once, since every write goes through it.
const refusing = allPolicies().filter((one): one is Named<ContentPolicy<AnySetting>> => one[1].decide !== null);

/** The policies that refuse content, in the order of the list. */
export const contentPolicies = (): Named<ContentPolicy<AnySetting>>[] => refusing;

/** The policies that are enforced by detectors, in the order of the list. */
export function screeningPolicies(): PolicyName[] {
  return contentPolicies().flatMap(([name, { decide }]) => (decide === "detectors" ? [name] : []));
}

/** Returns the settings of a config. A policy that the config does not name is off. */
export function policiesOf(config: JsonObject): PolicySettings {
  const members = (config.policies ?? {}) as JsonObject;
  return settingsBy((name, { form, off }) => {
    const member = members[name];
    return typeof member === (form.type === "integer" ? "number" : form.type) ? (member as AnySetting) : off;
  });
}

export const NO_POLICIES: PolicySettings = policiesOf({});

/** Returns settings that enforce these policies, each set as in the example of the API's documentation. */
export function examplePolicies(names: readonly PolicyName[]): PolicySettings {
  return policiesOf({ policies: Object.fromEntries(names.map((name) => [name, POLICIES[name].example as JsonValue])) });
}

/** Whether any policy is on. */
export const enforces = (policies: PolicySettings): boolean =>
  allPolicies().some(([name, { off }]) => policies[name] !== off);

/** Whether some content may be refused under these settings. */
export function refusesContent(policies: PolicySettings): boolean {
  return policies.screening !== null || contentPolicies().some(([name, { off }]) => policies[name] !== off);
}

/** Reports whether the settings have patterns of the operator. */
export const hasPatterns = ({ screening }: PolicySettings): boolean => (screening?.patterns ?? []).length > 0;

/** Returns the settings that enforce everything that either of the two enforces. */
export function stricterPolicies(a: PolicySettings, b: PolicySettings): PolicySettings {
  return settingsBy((name, policy) => policy.stricter(a[name], b[name]));
}

function settingsBy(setting: (name: PolicyName, policy: Policy<AnySetting>) => AnySetting): PolicySettings {
  return Object.fromEntries(allPolicies().map(([name, policy]) => [name, setting(name, policy)])) as PolicySettings;
}
