/** Decisions of policies that are made before the transaction, and how events and answers report decisions. */
import { isDeepStrictEqual } from "node:util";
import type { JsonObject, JsonValue } from "../../json.ts";
import { type Allowed, type Content, type Decision, decideAsItIs, type Finding } from "../../screen/decide.ts";
import type { PolicySettings } from "../../screen/policies.ts";
import type { Reader } from "../../store/transaction.ts";
import { readPolicies } from "../rows/agents.ts";
import { OutOfDate } from "./job.ts";

/** A decision, and the policies under which it was made. */
export interface Decided {
  policies: PolicySettings;
  decision: Decision;
  /** Set for a decision about a large text, which the workspace's thread must not screen itself. */
  elsewhere?: true;
}

/** Returns a decision as another thread sends it to the workspace's. */
export function decidedElsewhere(policies: PolicySettings, decision: Decision): JsonValue {
  const decided: Decided = { policies, decision, elsewhere: true };
  return decided as unknown as JsonObject;
}

/**
 * Reports whether a decision made before the transaction is still valid. It is not if the policies were changed since, or
 * an exception has ended that it rests on.
 * @throws {OutOfDate} instead, when it is about a large text
 */
export function stillHolds<D extends Decided>(
  ahead: D | undefined,
  policies: PolicySettings,
  nowMs: number,
): ahead is D {
  if (ahead === undefined) return false;
  if (isValid(ahead, policies, nowMs)) return true;
  if (ahead.elsewhere === true) throw new OutOfDate();
  return false;
}

/** Reports whether a decision that was made before is valid under these policies at this time. */
export function isValid(before: Decided, policies: PolicySettings, nowMs: number): boolean {
  const { validUntilMs = Number.POSITIVE_INFINITY } = before.decision;
  return nowMs < validUntilMs && areEqual(before.policies, policies);
}

/** The settings that were last found equal: the parts of a request share theirs, and a comparison takes microseconds. */
let equal: readonly [PolicySettings, PolicySettings] | null = null;

function areEqual(before: PolicySettings, policies: PolicySettings): boolean {
  if (before === policies || (equal?.[0] === before && equal[1] === policies)) return true;
  if (!isDeepStrictEqual(before, policies)) return false;
  equal = [before, policies];
  return true;
}

/** Screens a text that is stored as it is, such as a label or a reason. */
export class ScreensAsItIs<I extends { agentId: string }> {
  constructor(private readonly contentOf: (input: I) => Content) {}

  readonly prepare = (_context: unknown, _input: I, found: JsonValue | undefined): Decided | undefined =>
    found as unknown as Decided | undefined;

  /** Decides on another thread, under the agent's present policies. */
  readonly ahead = async (reader: Reader, input: I, { nowMs }: { nowMs: number }): Promise<JsonValue> => {
    const policies = await readPolicies(reader, input.agentId);
    return decidedElsewhere(policies, decideAsItIs(policies, this.contentOf(input), nowMs));
  };

  /** Returns the decision that was made ahead, or makes one now. @throws as {@link stillHolds} */
  decide(input: I, policies: PolicySettings, nowMs: number, ahead: Decided | undefined): Decision {
    return stillHolds(ahead, policies, nowMs) ? ahead.decision : decideAsItIs(policies, this.contentOf(input), nowMs);
  }
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
