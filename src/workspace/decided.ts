/** Decisions of policies that are made before the transaction of the operation that needs them. */
import { isDeepStrictEqual } from "node:util";
import type { Decision } from "../policy/decide.ts";
import type { PolicySettings } from "../policy/policies.ts";

/** A decision, and the policies that it was made under. */
export interface Decided {
  policies: PolicySettings;
  decision: Decision;
}

/**
 * Reports whether a decision made ahead is the one that these policies make now. It is not when an earlier operation of the
 * group changed the policies, or when the decision depends on the time.
 */
export function stillHolds<D extends Decided>(ahead: D | undefined, policies: PolicySettings): ahead is D {
  if (ahead === undefined || ahead.decision.isProvisional === true) return false;
  return ahead.policies === policies || isDeepStrictEqual(ahead.policies, policies);
}
