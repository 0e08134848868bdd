/** Erasing data for good, as the law may demand it: out of checkpoints and out of the log's details too. */

import type { OperationInputs } from "../../operations.ts";
import { countErasable, type ErasureTarget } from "../../state/erasure.ts";
import { answered, knownAgent, notFound, type Operation } from "../../workspace/operation.ts";

const NOTHING = "There is nothing under this key, neither stored nor in the details of the audit trail.";

/** Its event says how much is gone, and does not name the key. */
export const eraseData: Operation<"data.erase"> = async (reader, context, input) => {
  const { agentId } = input;
  const agent = await knownAgent(reader, context, agentId);
  const target = targetOf(input);
  const found = await countErasable(reader, agent, agentId, target);
  const { entries, versions, events } = found;
  if ("key" in input && versions === 0 && events === 0) {
    return notFound(agent, agentId, "entry_not_found", NOTHING, {});
  }
  const body = { deleted: entries, erased_events: events, audit_id: context.auditId };
  const details = { ...(agent === null ? { agent_id: agentId } : {}), entries, versions, events };
  return answered(agent, details, JSON.stringify(body), {
    effect: { kind: "erase", ...found, agentId, target },
  });
};

function targetOf(input: OperationInputs["data.erase"]): ErasureTarget {
  return "key" in input ? { key: input.key } : { prefix: input.prefix };
}
