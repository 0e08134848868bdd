/**
 * The floor: the policies of a workspace, which apply to every agent, with or without a config. The policies in force
 * for an agent combine the floor and the config: the stricter of the two for each member.
 */
import type { JsonObject } from "../json.ts";
import { enforces, NO_POLICIES, type PolicySettings, policiesOf, stricterPolicies } from "./policies.ts";

/** The value of `blocked_by` when the floor refuses a write of an agent without a config. */
export const REQUIRE_CONFIG = "require_config";

export interface Floor {
  /** `1` is shown as `p1`; null before the first version. */
  version: number | null;
  policies: PolicySettings;
  /** Whether agents without a config are refused writes. */
  requireConfig: boolean;
  /** Whether a config's exceptions also weaken the floor's demands. */
  exceptionsFromAgents: boolean;
}

/** The floor of a workspace that never set one. It demands nothing. */
export const NO_FLOOR: Floor = {
  version: null,
  policies: NO_POLICIES,
  requireConfig: false,
  exceptionsFromAgents: false,
};

/** Returns a version of the floor from its stored form. */
export const floorOf = (version: number, stored: JsonObject): Floor => ({
  version,
  policies: policiesOf(stored),
  requireConfig: stored.require_config === true,
  exceptionsFromAgents: stored.exceptions_from_agents === true,
});

/** Returns the members that a request sets and an answer shows, each as sent, or with its default. */
export const floorMembers = ({
  policies = {},
  require_config = false,
  exceptions_from_agents = false,
}: JsonObject): JsonObject => ({ policies, require_config, exceptions_from_agents });

/** Converts a version to text, `p1`, `p2`, …, and back; null for no version and for any other text. */
export const showFloorVersion = (version: number | null): string | null => (version === null ? null : `p${version}`);

export function parseFloorVersion(text: string): number | null {
  return /^p[1-9][0-9]{0,14}$/.test(text) ? Number(text.slice(1)) : null;
}

const known = new WeakMap<Floor, WeakMap<PolicySettings, PolicySettings>>();

/**
 * Returns the policies in force for an agent whose config has the policies `own`. The same arguments give the same
 * object.
 */
export function effectivePolicies(floor: Floor, own: PolicySettings): PolicySettings {
  if (floor.version === null) return own;
  let byConfig = known.get(floor);
  if (byConfig === undefined) {
    byConfig = new WeakMap();
    known.set(floor, byConfig);
  }
  let combined = byConfig.get(own);
  if (combined === undefined) {
    combined = combine(floor, own);
    byConfig.set(own, combined);
  }
  return combined;
}

function combine({ policies, exceptionsFromAgents }: Floor, own: PolicySettings): PolicySettings {
  if (!enforces(own)) return policies;
  const exceptions = own.screening?.exceptions ?? [];
  if (!exceptionsFromAgents || exceptions.length === 0) {
    return { ...stricterPolicies(policies, own), layers: [policies, own] };
  }
  const screening = { ...policies.screening, exceptions: [...(policies.screening?.exceptions ?? []), ...exceptions] };
  return { ...stricterPolicies(policies, own), layers: [{ ...policies, screening }, own] };
}
