/** The outcomes of operations that find no entry, or no version of it. */
import type { AgentState } from "../../core/rows/agents.ts";
import { hasEntry } from "../../core/rows/entries.ts";
import {
  type Context,
  naming,
  notFound,
  type Outcome,
  type ProblemAnswer,
  refused,
} from "../../core/writer/operation.ts";
import type { JsonObject } from "../../json.ts";
import { recorded } from "../../screen/decide.ts";
import type { Viewer } from "../../screen/retention.ts";
import type { Reader } from "../../store/transaction.ts";

const NO_ENTRY = "This agent has no entry under this key, or the entry has expired.";

/**
 * Returns the outcome for a missing entry. Its key was never screened, and may be text that a policy keeps out of the
 * log.
 * @param more further members of the details
 */
export function noEntry(
  { agents }: Pick<Context, "agents">,
  agent: AgentState | null,
  agentId: string,
  key: string,
  more: JsonObject = {},
): Outcome<ProblemAnswer> {
  const details = { ...recorded("key", key, agents.policiesOf(agent)), ...more };
  return notFound(agent, agentId, "entry_not_found", NO_ENTRY, details);
}

const SET_ASIDE =
  "The entry under this key is set aside: no program gets it until somebody releases it with DELETE /v1/quarantine. A write of the key makes a new entry.";

/** Returns the same for the present entry, which may be there and set aside, so that a program does not find it. */
export async function noPresent(
  reader: Reader,
  context: Context,
  agent: AgentState | null,
  { agentId, key }: { agentId: string; key: string },
): Promise<Outcome<ProblemAnswer>> {
  const missing = noEntry(context, agent, agentId, key);
  return agent !== null && (await isSetAside(reader, context, agent, key)) ? becauseSetAside(missing) : missing;
}

/** Whether a key that has no entry for a viewer has one that is set aside. */
export const isSetAside = async (reader: Reader, { nowMs, seesSetAside }: Viewer, agent: AgentState, key: string) =>
  !seesSetAside && hasEntry(reader, agent, key, { nowMs, seesSetAside: true });

/** Returns the outcome for an entry that is there, and set aside. */
export const becauseSetAside = (missing: Outcome<ProblemAnswer>): Outcome<ProblemAnswer> => ({
  ...missing,
  answer: { ...missing.answer, detail: SET_ASIDE, extra: { quarantined: true } },
});

export const NO_VERSION = {
  version_not_found: "No event of this agent wrote this key with this id. GET /v1/data/versions lists what there is.",
  version_gone: "The version is no longer kept. GET /v1/data/versions says since when versions are.",
};

/** Returns the outcome for a version that never was, or that is no longer kept. */
export function noVersion(
  { agents }: Context,
  agent: AgentState | null,
  { agentId, key }: { agentId: string; key: string },
  code: keyof typeof NO_VERSION,
  extra: JsonObject = {},
): Outcome {
  const details = { ...recorded("key", key, agents.policiesOf(agent)), code };
  return refused(agent, "not_found", naming(agent, agentId, details), { code, detail: NO_VERSION[code], extra });
}
