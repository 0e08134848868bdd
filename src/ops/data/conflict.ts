/** Checks the condition of a write or a deletion. */

import type { AgentState } from "../../core/rows/agents.ts";
import { entryVersion } from "../../core/rows/entries.ts";
import { type Context, conflict, naming, type Outcome, type ProblemAnswer } from "../../core/writer/operation.ts";
import { holds, type VersionCondition } from "../../operation-facts.ts";
import { recorded } from "../../screen/decide.ts";
import type { Reader } from "../../store/transaction.ts";

const WORDS = {
  absent: "The condition asks for an entry, and there is none under this key, or it has expired.",
  present: "The condition asks for no entry, and there is one under this key. Read it, then decide what to do.",
  other: "The entry has another version than the condition asks for. Read it again, then decide what to do.",
};

/**
 * Returns the outcome of an operation on an entry whose condition does not hold; null when it holds. To be called
 * before anything is screened, so that a conflict does not reveal findings.
 * @param agent null when it does not exist
 * @param named whether the event names the key
 */
export async function conflictOver(
  reader: Reader,
  context: Pick<Context, "nowMs" | "seesSetAside" | "agents">,
  agent: AgentState | null,
  { agentId, key, condition }: { agentId: string; key: string; condition: VersionCondition },
  { named = true } = {},
): Promise<Outcome<ProblemAnswer> | null> {
  const current = agent === null ? null : await entryVersion(reader, context, agent, key);
  if (holds(condition, current)) return null;
  // The key of a missing entry was never screened, and may be text that a policy keeps out of the log.
  const about = current === null ? recorded("key", key, context.agents.policiesOf(agent)) : { key };
  return conflict(agent, naming(agent, agentId, named ? about : {}), WORDS, condition, current);
}
