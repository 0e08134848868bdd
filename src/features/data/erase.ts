/** Erasing data for good, as the law may demand it: out of checkpoints and out of the log's details too. */
import { type Erased, type ErasureTarget, erase } from "../../state/erasure.ts";
import type { OperationInputs } from "../../workspace/contract.ts";
import { answered, knownAgent, notFound, type Operation } from "../../workspace/operation.ts";

const NOTHING = "There is nothing under this key, neither stored nor in the details of the audit trail.";

/** Its event says how much is gone, and does not name the key. */
export const eraseData: Operation<"data.erase"> = async (tx, context, input) => {
  const { agentId } = input;
  const agent = await knownAgent(tx, context, agentId);
  const erased = await erase(tx, agent, agentId, targetOf(input));
  const asked = agent === null ? { agent_id: agentId } : {};
  if ("key" in input && isNothing(erased)) {
    return notFound(agent, agentId, "entry_not_found", NOTHING, {});
  }
  const body = { deleted: erased.live, erased_events: erased.events, audit_id: context.auditId };
  const details = { ...asked, entries: erased.live, versions: erased.versions, events: erased.events };
  return answered(agent, details, JSON.stringify(body), {
    scrub: true,
    ...(agent === null ? {} : { change: { liveEntries: agent.liveEntries - erased.live } }),
  });
};

function targetOf(input: OperationInputs["data.erase"]): ErasureTarget {
  return "key" in input ? { key: input.key } : { prefix: input.prefix };
}

const isNothing = ({ versions, events }: Erased): boolean => versions === 0 && events === 0;
