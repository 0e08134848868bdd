/** The outcomes of operations that find no entry, or no version of it. */
import type { AgentState } from "../../core/rows/agents.ts";
import { type Context, naming, notFound, type Outcome, refused } from "../../core/writer/operation.ts";
import type { JsonObject } from "../../json.ts";
import { recorded } from "../../screen/decide.ts";

const NO_ENTRY = "This agent has no entry under this key, or the entry has expired.";

/**
 * Returns the outcome for a missing entry. Its key was never screened, and may be text that a policy keeps out of the
 * log.
 * @param more further members of the details
 */
export function noEntry(
  { agents }: Context,
  agent: AgentState | null,
  agentId: string,
  key: string,
  more: JsonObject = {},
): Outcome {
  const details = { ...recorded("key", key, agents.policiesOf(agent)), ...more };
  return notFound(agent, agentId, "entry_not_found", NO_ENTRY, details);
}

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
