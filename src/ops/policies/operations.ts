/** Decides about a text without storing it. */

import type { AgentState } from "../../core/rows/agents.ts";
import { type Bar, barOfValue, barUnder, barWithoutConfig, underBar } from "../../core/writer/admission.ts";
import { type Decided, Screening } from "../../core/writer/decided.ts";
import { answered, type Context, finished, naming, type OperationsOf, type Run } from "../../core/writer/operation.ts";
import type { JsonObject } from "../../json.ts";
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

/** Returns the policies in the request; null when the agent's policies apply. */
const sentPolicies = ({ policies }: Check): PolicySettings | null =>
  policies === null ? null : policiesOf({ policies });

const screening = new Screening<"policy.check", Check>(decide, sentPolicies);

const check: Run<"policy.check", Decided> = async (reader, context, input, found) => {
  const { agentId } = input;
  // Without an agent, the policies of the workspace apply.
  const chain = await context.agents.find(agentId);
  const agent = agentId === null ? null : chain;
  const inForce = context.agents.policiesOf(agent);
  const decided = screening.decide(input, inForce, context.nowMs, found);
  const policies = sentPolicies(input) ?? inForce;
  const decision = underBar(await barOf(reader, context, input, { agent, policies }), decided);
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
  const bar = limits && (await barUnder(reader, writer, limits, input, context));
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

const replay: Run<"policy.replay"> = async (_reader, context, { agentId, policies, form }) => {
  const agent = agentId === null ? null : await context.agents.find(agentId);
  const details = { under: "request", policies: Object.keys(policies) };
  return finished(agent, agentId === null ? details : naming(agent, agentId, details), {
    kind: "stream",
    contentType: form === "json" ? "application/json" : "application/x-ndjson",
    body: { kind: "replay", agentId, policies, form, nowMs: context.nowMs, seesSetAside: context.seesSetAside },
  });
};

export const policyOperations: OperationsOf<"policy" | "policies"> = {
  "policies.read": { run: readWorkspacePolicies },
  "policies.update": { run: updateWorkspacePolicies },
  "policies.list_versions": { run: listPoliciesVersions },
  "policies.read_version": { run: readPoliciesVersion },
  "policy.check": { look: screening.look, run: check },
  "policy.replay": { run: replay },
};
