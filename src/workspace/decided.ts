/** Decisions of policies that are made before the transaction, and how events and answers report decisions. */
import { isDeepStrictEqual } from "node:util";
import type { JsonObject } from "../json.ts";
import type { Allowed, Decision, Finding } from "../policy/decide.ts";
import type { PolicySettings } from "../policy/policies.ts";

/**
 * The least length of a text that is screened on another thread before the transaction, UTF-16 units or bytes. The
 * slowest texts take about 1 ms per 1,000 units.
 */
export const LARGE_TEXT = 8 * 1024;

/** A decision, and the policies under which it was made. */
export interface Decided {
  policies: PolicySettings;
  decision: Decision;
}

/**
 * Reports whether a decision made before the transaction is still valid. It is not if an earlier operation of the group
 * has changed the policies, or if the decision depends on the time.
 */
export function stillHolds<D extends Decided>(ahead: D | undefined, policies: PolicySettings): ahead is D {
  if (ahead === undefined || ahead.decision.isProvisional === true) return false;
  return ahead.policies === policies || isDeepStrictEqual(ahead.policies, policies);
}

/** Returns the members of an event's details that report the findings in a stored value. */
export function reportedOf({ found }: Allowed): JsonObject {
  const said: JsonObject = {};
  if (found === undefined) return said;
  const { findings, redacted, excepted } = found;
  if (findings.length > 0) said.findings = findings as unknown as JsonObject[];
  if (redacted !== undefined) said.redacted = true;
  if (excepted !== undefined) said.excepted = excepted;
  return said;
}

/** Returns the members of an answer that report the findings in a value that was stored unchanged. */
export function findingsIn({ found }: Allowed): { findings?: readonly Finding[] } {
  return found === undefined || found.findings.length === 0 ? {} : { findings: found.findings };
}
