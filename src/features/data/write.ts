/** Writing an entry: everything that needs the input and the agent's policies alone is done ahead. */
import type { JsonObject } from "../../json.ts";
import { sha256Hex } from "../../log/hash.ts";
import { canonicalJson } from "../../log/jcs.ts";
import { type Decision, decide } from "../../policy/decide.ts";
import { AgentDirectory } from "../../state/agents.ts";
import type { EnforcedPolicies } from "../../state/configs.ts";
import { putEntry } from "../../state/entries.ts";
import type { OperationInputs } from "../../workspace/contract.ts";
import { answered, knownAgent, type Operation } from "../../workspace/operation.ts";

const STORED = "Stored.";

type Write = OperationInputs["data.write"];

/** What a write comes to under some policies. */
interface Prepared {
  policies: EnforcedPolicies;
  decision: Decision;
  /** JSON texts, and the digest of both with the key; absent where nothing is to be stored. */
  content?: { value: string; metadata: string; digest: string };
}

const preparations = new WeakMap<Write, Prepared>();

/**
 * Looks at a write before its turn. With a group of them done at once, the tables of screening stay in the
 * processor's cache, which the database would push them out of between one write and the next.
 */
export function prepareWrite(agents: AgentDirectory, input: Write): void {
  const agent = agents.known(input.agentId);
  if (agent !== undefined) preparations.set(input, prepare(input, agent.policies));
}

function prepare(input: Write, policies: EnforcedPolicies): Prepared {
  const decision = decide(policies, input);
  if (!decision.allowed) return { policies, decision };
  const metadata = canonicalJson(input.metadata);
  const value = JSON.stringify(input.value);
  const digest = sha256Hex(`{"key":${JSON.stringify(input.key)},"metadata":${metadata},"value":${value}}`);
  return { policies, decision, content: { value, metadata, digest } };
}

export const writeData: Operation<"data.write"> = async (tx, context, input) => {
  const known = await knownAgent(tx, context, input.agentId);
  const agent = known ?? AgentDirectory.fresh(input.agentId, context.seq);
  const ahead = preparations.get(input);
  // An operation before this one may have brought other policies into force.
  const { decision, content } = ahead?.policies === agent.policies ? ahead : prepare(input, agent.policies);
  if (!decision.allowed) {
    const findings = decision.findings as unknown as JsonObject[];
    const { blockedBy, message } = decision;
    const body = { allowed: false, blocked_by: blockedBy, message, findings };
    // Neither the key nor a digest: either could be what was caught.
    return answered(agent, { findings }, JSON.stringify(body), { result: "blocked", blockedBy });
  }
  const { value, metadata, digest } = content as NonNullable<Prepared["content"]>;
  const added = await putEntry(tx, agent, { key: input.key, value, metadata }, context);
  return answered(
    agent,
    { key: input.key, value_digest: digest },
    `{"allowed":true,"audit_id":"${context.auditId}","message":"${STORED}"}`,
    { result: "allowed", change: { liveEntries: agent.liveEntries + added } },
  );
};
