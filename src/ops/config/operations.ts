/** Operations on an agent's configuration. They run on the workspace's thread. */

import { EMPTY_PAGE, listBody } from "../../core/lists.ts";
import type { AgentState } from "../../core/rows/agents.ts";
import {
  type ConfigVersion,
  configFacts,
  listConfigs,
  parseVersion,
  readConfigVersion,
  showVersion,
} from "../../core/rows/configs.ts";
import {
  answered,
  type Context,
  conflict,
  naming,
  notFound,
  type OperationsOf,
  type Outcome,
  type Run,
} from "../../core/writer/operation.ts";
import type { JsonObject } from "../../json.ts";
import { canonicalJson } from "../../log/jcs.ts";
import { holds } from "../../operation-facts.ts";
import type { OperationInputs } from "../../operations.ts";
import { inForce } from "../../screen/effective.ts";
import { NO_POLICIES } from "../../screen/policies.ts";
import { showPoliciesVersion } from "../../screen/workspace-policies.ts";

const NO_CONFIG = "This agent has no configuration. Make one with PUT /v1/config/{agent_id}.";
const NO_VERSION = "This agent has no such configuration version. GET /v1/config/{agent_id}/versions lists them.";
const CONFLICT = {
  absent: "The condition asks for a configuration, and the agent has none.",
  present: "The condition asks for no configuration, and the agent has one. Read it, then decide what to do.",
  other:
    "The configuration in force is not the one that the condition asks for. Read it again, then decide what to do.",
};

function showConfig(agentId: string, version: ConfigVersion): string {
  return (
    `{"agent_id":${JSON.stringify(agentId)},"version":"v${version.version}","config":${version.config},` +
    `"created_at":"${version.createdAt}","created_by":"${version.createdBy}",` +
    `"rolled_back_from":${JSON.stringify(showVersion(version.rolledBackFrom))}}`
  );
}

const readConfig: Run<"config.read" | "config.read_version"> = async (reader, context, input) => {
  const found = await findVersion(context, input.agentId, "version" in input ? input.version : null);
  if ("answer" in found) return found;
  const config = await readConfigVersion(reader, found.agent.firstSeq, found.version);
  const version = `v${found.version}`;
  return answered(found.agent, { version }, showConfig(input.agentId, config), { etag: version });
};

/**
 * Returns the agent and the number of a requested version (null: the newest), or the outcome when it does not exist.
 */
async function findVersion(context: Context, agentId: string, text: string | null) {
  const agent = await context.agents.find(agentId);
  const newest = agent?.configVersion ?? null;
  const version = text === null ? newest : parseVersion(text);
  // Text that is not a version may be anything, so the details leave it out.
  const details: JsonObject = version === null ? {} : { version: `v${version}` };
  if (agent === null || newest === null) return notFound(agent, agentId, "config_not_found", NO_CONFIG, details);
  // Versions have no gaps.
  if (version !== null && version <= newest) return { agent, version };
  return notFound(agent, agentId, "version_not_found", NO_VERSION, details);
}

const listConfigVersions: Run<"config.list_versions"> = async (reader, context, input) => {
  const agent = await context.agents.find(input.agentId);
  const { items, last } = agent === null ? EMPTY_PAGE : await listConfigs(reader, agent.firstSeq, input);
  const shown = items.map((version) => JSON.stringify(showListed(input.agentId, version)));
  const details = naming(agent, input.agentId, { count: items.length });
  return answered(agent, details, listBody("config.list_versions", input, shown, last?.version ?? null));
};

function showListed(agentId: string, version: ConfigVersion): JsonObject {
  const config = JSON.parse(version.config) as JsonObject;
  return {
    agent_id: agentId,
    version: `v${version.version}`,
    policies: config.policies ?? {},
    created_at: version.createdAt,
    created_by: version.createdBy,
    rolled_back_from: showVersion(version.rolledBackFrom),
  };
}

const readEffective: Run<"config.read_effective"> = async (_reader, context, { agentId }) => {
  const agent = await context.agents.find(agentId);
  const { workspacePolicies } = context.agents;
  const body = {
    agent_id: agentId,
    config_version: showVersion(agent?.configVersion ?? null),
    policies_version: showPoliciesVersion(workspacePolicies.version),
    ...inForce(workspacePolicies, agent?.own ?? NO_POLICIES, context.nowMs),
  };
  return answered(agent, naming(agent, agentId, {}), JSON.stringify(body));
};

export const updateConfig: Run<"config.update"> = async (_reader, context, input) => {
  const known = await context.agents.find(input.agentId);
  const refusal = conflictOver(known, input);
  if (refusal !== null) return refusal;
  const agent = known ?? context.agents.fresh(input.agentId, context.seq);
  return addVersion(context, agent, canonicalJson(input.config), null);
};

export const rollbackConfig: Run<"config.rollback"> = async (reader, context, input) => {
  const found = await findVersion(context, input.agentId, input.version);
  if ("answer" in found) return found;
  const { agent, version } = found;
  const refusal = conflictOver(agent, input);
  if (refusal !== null) return refusal;
  const old = await readConfigVersion(reader, agent.firstSeq, version);
  return addVersion(context, agent, old.config, version);
};

/** Returns the outcome when the condition does not hold, otherwise null. `agent` is null when it does not exist. */
function conflictOver(
  agent: AgentState | null,
  { agentId, condition }: OperationInputs["config.update" | "config.rollback"],
): Outcome | null {
  const current = showVersion(agent?.configVersion ?? null);
  if (condition === undefined || holds(condition, current)) return null;
  return conflict(agent, naming(agent, agentId, {}), CONFLICT, condition, current);
}

function addVersion(context: Context, agent: AgentState, config: string, rolledBackFrom: number | null): Outcome {
  const content = { version: (agent.configVersion ?? 0) + 1, config, salt: context.newSalt(), rolledBackFrom };
  const facts = configFacts(content);
  const made = { ...content, createdAt: context.timestamp, createdBy: context.principal.actor };
  const details: JsonObject = { version: facts.version, config_digest: facts.digest };
  if (facts.rolledBackFrom !== null) details.rolled_back_from = facts.rolledBackFrom;
  return answered(agent, details, showConfig(agent.agentId as string, made), {
    etag: facts.version,
    effect: { kind: "add_config", ...facts, content },
  });
}

export const configOperations: OperationsOf<"config"> = {
  "config.read": { run: readConfig },
  "config.update": { run: updateConfig },
  "config.list_versions": { run: listConfigVersions },
  "config.read_version": { run: readConfig },
  "config.read_effective": { run: readEffective },
  "config.rollback": { run: rollbackConfig },
};
