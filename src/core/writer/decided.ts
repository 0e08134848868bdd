/** Decisions of policies that are made before the transaction, and how events and answers report decisions. */
import { isDeepStrictEqual } from "node:util";
import type { JsonObject } from "../../json.ts";
import type { OperationInputs, OperationName } from "../../operations.ts";
import { type Allowed, type Content, type Decision, decideAsItIs, type Finding } from "../../screen/decide.ts";
import type { PolicySettings } from "../../screen/policies.ts";
import type { Reader } from "../../store/transaction.ts";
import { readPolicies } from "../rows/agents.ts";
import { loadWorkspacePolicies } from "../rows/configs.ts";
import { OutOfDate } from "./job.ts";
import type { Look, LookContext } from "./operation.ts";

/** A decision, and the policies under which it was made. */
export interface Decided {
  policies: PolicySettings;
  decision: Decision;
  /** Set for a decision about a large text, which the workspace's thread must not screen itself. */
  elsewhere?: true;
}

/**
 * Reports whether a decision made before the transaction is still valid. It is not if the policies were changed since, or
 * an exception has ended that it rests on.
 * @throws {OutOfDate} instead, when it is about a large text
 */
function stillHolds(ahead: Decided | undefined, policies: PolicySettings, nowMs: number): ahead is Decided {
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

type Decide<I> = (policies: PolicySettings, input: I, nowMs: number) => Decision;

/**
 * What policies decide about the content of an operation. There are two places for it: the screening thread, for large
 * texts, and the workspace's thread.
 */
export class Screening<N extends OperationName, I extends OperationInputs[N] & { agentId: string | null }> {
  /**
   * @param decideNow decides under policies
   * @param sent returns the policies in the request, which apply instead of the agent's; null for none
   */
  constructor(
    private readonly decideNow: Decide<I>,
    private readonly sent: (input: I) => PolicySettings | null = () => null,
  ) {}

  /** Decides before the transaction, under the policies in force for the agent or, without an agent, for the workspace. */
  readonly look: Look<N, Decided> = Object.assign(
    async (reader: Reader, { nowMs }: LookContext, input: OperationInputs[N]): Promise<Decided> => {
      const { agentId } = input as I;
      const policies =
        agentId === null ? (await loadWorkspacePolicies(reader)).policies : await readPolicies(reader, agentId);
      return { ...this.#under(policies, input as I, nowMs), elsewhere: true };
    },
    {
      under: (policies: PolicySettings, input: OperationInputs[N], nowMs: number) =>
        this.#under(policies, input as I, nowMs),
    },
  );

  #under(inForce: PolicySettings, input: I, nowMs: number): Decided {
    const policies = this.sent(input) ?? inForce;
    return { policies, decision: this.decideNow(policies, input, nowMs) };
  }

  /**
   * Returns the decision that was made before the transaction, or makes one now.
   * @throws {OutOfDate} when the decision about a large text does not hold any more
   */
  decide(input: I, inForce: PolicySettings, nowMs: number, found: Decided | undefined): Decision {
    const policies = this.sent(input) ?? inForce;
    return stillHolds(found, policies, nowMs) ? found.decision : this.decideNow(policies, input, nowMs);
  }
}

/** The decision about a text that is stored as it is, such as a label or a reason. */
export const asItIs =
  <I>(contentOf: (input: I) => Content): Decide<I> =>
  (policies, input, nowMs) =>
    decideAsItIs(policies, contentOf(input), nowMs);

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
