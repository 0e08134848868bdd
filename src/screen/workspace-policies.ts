/**
 * The workspace policies apply to every agent, with or without a config. The policies in force for an agent combine them
 * with the policies of its config: for each member, the stricter of the two.
 */
import type { JsonObject } from "../json.ts";
import { enforces, NO_POLICIES, type PolicySettings, policiesOf, stricterPolicies } from "./policies.ts";

/** The value of `blocked_by` when the workspace policies refuse a write of an agent without a config. */
export const REQUIRE_CONFIG = "require_config";

export interface WorkspacePolicies {
  /** `1` is shown as `p1`; null before the first version. */
  version: number | null;
  policies: PolicySettings;
  /** Whether agents without a config are refused writes. */
  requireConfig: boolean;
  /** Whether a config's exceptions also apply to what the workspace policies demand. */
  exceptionsFromAgents: boolean;
}

/** The workspace policies before the first version. They demand nothing. */
export const NO_WORKSPACE_POLICIES: WorkspacePolicies = {
  version: null,
  policies: NO_POLICIES,
  requireConfig: false,
  exceptionsFromAgents: false,
};

/** Returns a version of the workspace policies from its stored form. */
export const workspacePoliciesOf = (version: number, stored: JsonObject): WorkspacePolicies => ({
  version,
  policies: policiesOf(stored),
  requireConfig: stored.require_config === true,
  exceptionsFromAgents: stored.exceptions_from_agents === true,
});

/** Returns the members that a request sets and an answer shows, each as sent, or with its default. */
export const policiesMembers = ({
  policies = {},
  require_config = false,
  exceptions_from_agents = false,
}: JsonObject): JsonObject => ({ policies, require_config, exceptions_from_agents });

/** Converts a version to text, `p1`, `p2`, …, and back; null for no version and for any other text. */
export const showPoliciesVersion = (version: number | null): string | null => (version === null ? null : `p${version}`);

export function parsePoliciesVersion(text: string): number | null {
  return /^p[1-9][0-9]{0,14}$/.test(text) ? Number(text.slice(1)) : null;
}

const known = new WeakMap<WorkspacePolicies, WeakMap<PolicySettings, PolicySettings>>();

/**
 * Returns the policies in force for an agent whose config has the policies `own`. The same arguments give the same
 * object.
 */
export function effectivePolicies(workspacePolicies: WorkspacePolicies, own: PolicySettings): PolicySettings {
  if (workspacePolicies.version === null) return own;
  let byConfig = known.get(workspacePolicies);
  if (byConfig === undefined) {
    byConfig = new WeakMap();
    known.set(workspacePolicies, byConfig);
  }
  let combined = byConfig.get(own);
  if (combined === undefined) {
    combined = combine(workspacePolicies, own);
    byConfig.set(own, combined);
  }
  return combined;
}

function combine({ policies, exceptionsFromAgents }: WorkspacePolicies, own: PolicySettings): PolicySettings {
  if (!enforces(own)) return policies;
  const exceptions = own.screening?.exceptions ?? [];
  if (!exceptionsFromAgents || exceptions.length === 0) {
    return { ...stricterPolicies(policies, own), layers: [policies, own] };
  }
  const screening = { ...policies.screening, exceptions: [...(policies.screening?.exceptions ?? []), ...exceptions] };
  return { ...stricterPolicies(policies, own), layers: [{ ...policies, screening }, own] };
}
