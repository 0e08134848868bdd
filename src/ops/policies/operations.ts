/** Decides about a text without storing it. */

import { type AgentState, readPolicies } from "../../core/rows/agents.ts";
import { loadWorkspacePolicies } from "../../core/rows/configs.ts";
import { type Bar, barOfValue, barUnder, barWithoutConfig, underBar } from "../../core/writer/admission.ts";
import { type Decided, decidedElsewhere, stillHolds } from "../../core/writer/decided.ts";
import {
  answered,
  type Context,
  finished,
  naming,
  type Operation,
  type OperationsOf,
  type PrepareContext,
} from "../../core/writer/operation.ts";
import type { JsonObject, JsonValue } from "../../json.ts";
import type { OperationInputs } from "../../operations.ts";
import { type Allowed, type Decision, decide, type Refused } from "../../screen/decide.ts";
import { type PolicySettings, policiesOf } from "../../screen/policies.ts";
import { showPoliciesVersion } from "../../screen/workspace-policies.ts";
import type { Reader } from "../../store/transaction.ts";
import {
  listPoliciesVersions,
  readPoliciesVersion,
  readWorkspacePolicies,
  updateWorkspacePolicies,
} from "./workspace-policies.ts";

const NOTHING_OBJECTS = "Nothing objects. Nothing was stored.";
const REPORTED = "It would be stored, and what was found reported. Nothing was stored.";
const REDACTED = "It would be stored with what was found replaced. Nothing was stored.";

type Check = OperationInputs["policy.check"];

const decideUnder = (policies: PolicySettings, input: Check, nowMs?: number): Decided => ({
  policies,
  decision: decide(policies, input, nowMs),
});

/** Returns the policies in the request; null when the agent's policies apply. */
const sentPolicies = ({ policies }: Check): PolicySettings | null =>
  policies === null ? null : policiesOf({ policies });

/** Decides before the transaction, like a write. Returns undefined when the policies are not cached. */
function prepareCheck({ agents }: PrepareContext, input: Check, found?: JsonValue): Decided | undefined {
  if (found !== undefined) return found as unknown as Decided;
  const known = input.agentId === null ? undefined : agents.known(input.agentId)?.policies;
  const policies = sentPolicies(input) ?? known;
  return policies === undefined ? undefined : decideUnder(policies, input);
}

/** Decides about a large text on another thread, under the agent's present policies. */
async function checkAhead(reader: Reader, input: Check, { nowMs }: { nowMs: number }): Promise<JsonValue> {
  const { agentId } = input;
  const policies =
    sentPolicies(input) ??
    (agentId === null ? (await loadWorkspacePolicies(reader)).policies : await readPolicies(reader, agentId));
  return decidedElsewhere(policies, decide(policies, input, nowMs));
}

const check: Operation<"policy.check", Decided> = async (reader, context, input, ahead) => {
  const { agentId } = input;
  // Without an agent, the policies of the workspace apply.
  const found = await context.agents.find(agentId);
  const agent = agentId === null ? null : found;
  const policies = sentPolicies(input) ?? context.agents.policiesOf(agent);
  const decided = stillHolds(ahead, policies, context.nowMs) ? ahead : decideUnder(policies, input, context.nowMs);
  const decision = underBar(await barOf(reader, context, input, { agent, policies }), decided.decision);
  const said = decision.allowed ? allowanceOf(decision) : refusalOf(decision);
  const { excepted } = decision.allowed ? (decision.found ?? {}) : decision;
  const details = { ...said, ...(excepted && { excepted }), under: input.policies === null ? "agent" : "request" };
  const named = agentId === null ? { ...details, ...workspacePoliciesIn(context) } : naming(agent, agentId, details);
  return answered(agent, named, JSON.stringify({ ...said, ...shownOf(decision) }));
};

/** Returns the reason to refuse the write, or null. The check does not count against limits. */
async function barOf(
  reader: Reader,
  context: Context,
  input: Check,
  { agent, policies: { limits } }: { agent: AgentState | null; policies: PolicySettings },
): Promise<Bar | null> {
  const { agentId, value } = input;
  if (agentId === null) return limits && barOfValue(limits, value);
  const writer = agent ?? context.agents.fresh(agentId, context.seq);
  const bar = limits && (await barUnder(reader, writer, limits, input, context.nowMs));
  // Policies in the request cannot require a config.
  return bar ?? (input.policies === null ? barWithoutConfig(writer) : null);
}

/** Returns the details of an event without an agent about the policies of the workspace. */
const workspacePoliciesIn = ({ agents: { workspacePolicies } }: Context): JsonObject =>
  workspacePolicies.version === null ? {} : { policies_version: showPoliciesVersion(workspacePolicies.version) };

/** Returns the members of the event and the answer for a write that would be stored. */
function allowanceOf({ found }: Allowed): JsonObject {
  const said: JsonObject = { allowed: true };
  if (found?.redacted !== undefined) said.redacted = true;
  if (found !== undefined && found.findings.length > 0) said.findings = found.findings as unknown as JsonObject[];
  return said;
}

/** Returns the members of only the answer. */
function shownOf(decision: Decision): JsonObject {
  if (!decision.allowed) return { message: decision.message };
  const { redacted, findings = [] } = decision.found ?? {};
  if (redacted !== undefined) return { message: REDACTED, redacted_value: redacted.value };
  return { message: findings.length === 0 ? NOTHING_OBJECTS : REPORTED };
}

const refusalOf = ({ blockedBy, findings, retryAfterSeconds }: Refused): JsonObject => ({
  allowed: false,
  blocked_by: blockedBy,
  findings: findings as unknown as JsonObject[],
  ...(retryAfterSeconds === undefined ? {} : { retry_after_seconds: retryAfterSeconds }),
});

const replay: Operation<"policy.replay"> = async (_reader, context, { agentId, policies, form }) => {
  const agent = agentId === null ? null : await context.agents.find(agentId);
  const details = { under: "request", policies: Object.keys(policies) };
  return finished(agent, agentId === null ? details : naming(agent, agentId, details), {
    kind: "stream",
    contentType: form === "json" ? "application/json" : "application/x-ndjson",
    body: { kind: "replay", agentId, policies, form, nowMs: context.nowMs },
  });
};

export const policyOperations: OperationsOf<"policy" | "policies"> = {
  "policies.read": readWorkspacePolicies,
  "policies.update": updateWorkspacePolicies,
  "policies.list_versions": listPoliciesVersions,
  "policies.read_version": readPoliciesVersion,
  "policy.check": { prepare: prepareCheck, ahead: checkAhead, run: check },
  "policy.replay": replay,
};
