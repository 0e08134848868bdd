/** Decisions of policies: those that are made before the transaction, and what events say of them. */
import { isDeepStrictEqual } from "node:util";
import type { JsonObject } from "../json.ts";
import type { Allowed, Decision, Finding } from "../policy/decide.ts";
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

/** What the event says of what was found in something that is stored. */
export function reportedOf({ found }: Allowed): JsonObject {
  const said: JsonObject = {};
  if (found === undefined) return said;
  const { findings, redacted, excepted } = found;
  if (findings.length > 0) said.findings = findings as unknown as JsonObject[];
  if (redacted !== undefined) said.redacted = true;
  if (excepted !== undefined) said.excepted = excepted;
  return said;
}

/** What the answer says of what was found in something that is stored as it is. */
export function findingsIn({ found }: Allowed): { findings?: readonly Finding[] } {
  return found === undefined || found.findings.length === 0 ? {} : { findings: found.findings };
}
