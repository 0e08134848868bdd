/** The data and the checkpoints of a suspended agent are out of everybody's reach. */

import type { OperationInputs, OperationName } from "../../operations.ts";
import type { AgentState } from "../../state/agents.ts";
import { NO_EFFECT } from "../../state/apply.ts";
import { findCheckpoint } from "../../state/checkpoints.ts";
import type { Reader } from "../../store/transaction.ts";
import { type Context, knownAgent, type Operation, requireAgentAllowed } from "../../workspace/operation.ts";

const SUSPENDED =
  "The agent is suspended: its data and checkpoints are out of reach. An operator ends that with POST /v1/agents/{agent_id}/resume.";

type Input = OperationInputs[OperationName];

/** The operation for agents that are not suspended; for others a refusal, which is recorded. */
export function refusingSuspended(operation: Operation<OperationName>): Operation<OperationName> {
  return async (reader, context, input, prepared) => {
    const agent = await subjectOf(reader, context, input);
    if (agent === null || !agent.suspended) return operation(reader, context, input, prepared);
    requireAgentAllowed(context.principal, agent.agentId);
    return {
      agent,
      result: "denied",
      details: "checkpointId" in input ? { checkpoint_id: input.checkpointId } : {},
      effect: NO_EFFECT,
      answer: { kind: "problem", code: "agent_suspended", detail: SUSPENDED },
    };
  };
}

async function subjectOf(reader: Reader, context: Context, input: Input): Promise<AgentState | null> {
  if ("agentId" in input) return knownAgent(reader, context, input.agentId);
  if (!("checkpointId" in input)) return null;
  const checkpoint = await findCheckpoint(reader, input.checkpointId);
  return checkpoint === undefined ? null : context.agents.findByFirstSeq(reader, checkpoint.agent);
}
