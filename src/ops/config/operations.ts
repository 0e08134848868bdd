/** Operations on an agent's configuration. They run on the workspace's thread. */

import { EMPTY_PAGE, listBody } from "../../core/lists.ts";
import { noMoment, readAsOf, showMoment } from "../../core/past.ts";
import type { AgentState } from "../../core/rows/agents.ts";
import type { PastMoment } from "../../core/rows/as-of.ts";
import {
  type ConfigVersion,
  configFacts,
  listConfigs,
  loadWorkspacePolicies,
  parseVersion,
  policiesIn,
  readConfigVersion,
  showVersion,
  versionAt,
} from "../../core/rows/configs.ts";
import {
  answered,
  type Context,
  conflict,
  naming,
  notFound,
  type OperationsOf,
  type Outcome,
  operation,
  type Run,
} from "../../core/writer/operation.ts";
import type { JsonObject } from "../../json.ts";
import { canonicalJson } from "../../log/jcs.ts";
import { holds } from "../../operation-facts.ts";
import type { OperationInputs } from "../../operations.ts";
import { inForce } from "../../screen/effective.ts";
import { NO_POLICIES } from "../../screen/policies.ts";
import { showPoliciesVersion, type WorkspacePolicies } from "../../screen/workspace-policies.ts";
import type { Reader } from "../../store/transaction.ts";

const NO_CONFIG = "This agent has no configuration. Make one with PUT /v1/config/{agent_id}.";
const NO_VERSION = "This agent has no such configuration version. GET /v1/config/{agent_id}/versions lists them.";
const CONFLICT = {
  absent: "The condition asks for a configuration, and the agent has none.",
  present: "The condition asks for no configuration, and the agent has one. Read it, then decide what to do.",
  other:
    "The configuration in force is not the one that the condition asks for. Read it again, then decide what to do.",
};

function showConfig(agentId: string, version: ConfigVersion, moment: JsonObject = {}): string {
  return (
    `{"agent_id":${JSON.stringify(agentId)},"version":"v${version.version}","config":${version.config},` +
    `"created_at":"${version.createdAt}","created_by":"${version.createdBy}",` +
    JSON.stringify({ rolled_back_from: showVersion(version.rolledBackFrom), ...moment }).slice(1)
  );
}

const readVersion: Run<"config.read_version"> = async (reader, context, input) => {
  const found = await findVersion(context, input.agentId, input.version);
  return "answer" in found ? found : answerVersion(reader, found, {});
};

async function answerVersion(reader: Reader, found: { agent: AgentState; version: number }, moment: JsonObject) {
  const config = await readConfigVersion(reader, found.agent.firstSeq, found.version);
  const version = `v${found.version}`;
  const body = showConfig(found.agent.agentId as string, config, moment);
  return answered(found.agent, { version, ...moment }, body, { etag: version });
}

const readConfig = operation("config.read", {
  look: (reader, context, input) =>
    readAsOf<{ version: number | null }>(reader, context, input, { version: null }, async (own, agent, at) => {
      if (agent === null) return { version: null };
      return { version: at === undefined ? agent.configVersion : await versionAt(own, agent.firstSeq, at.seq) };
    }),
  async run(reader, context, { agentId }, looked) {
    const agent = await context.agents.find(agentId);
    if (looked?.no !== undefined) return noMoment(agent, agentId, looked.no);
    const version = looked === undefined ? (agent?.configVersion ?? null) : looked.version;
    const moment = showMoment(looked);
    if (agent === null || version === null) return notFound(agent, agentId, "config_not_found", NO_CONFIG, moment);
    return answerVersion(reader, { agent, version }, moment);
  },
});

/** Returns the agent and the number of a requested version, or the outcome when it does not exist. */
async function findVersion(context: Context, agentId: string, text: string) {
  const agent = await context.agents.find(agentId);
  const newest = agent?.configVersion ?? null;
  const version = parseVersion(text);
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

/** What was in force right after a position: the version of the config and of the workspace's policies, and their policies. */
async function effectiveAt(reader: Reader, agent: AgentState | null, { seq, timestamp }: PastMoment) {
  const configVersion = agent === null ? null : await versionAt(reader, agent.firstSeq, seq);
  const own =
    agent === null || configVersion === null
      ? NO_POLICIES
      : policiesIn((await readConfigVersion(reader, agent.firstSeq, configVersion)).config);
  return showInForce({ configVersion, own }, await loadWorkspacePolicies(reader, seq), Date.parse(timestamp));
}

const showInForce = (
  { configVersion, own }: Pick<AgentState, "configVersion" | "own">,
  workspacePolicies: WorkspacePolicies,
  timeMs: number,
) => ({
  config_version: showVersion(configVersion),
  policies_version: showPoliciesVersion(workspacePolicies.version),
  ...inForce(workspacePolicies, own, timeMs),
});

const NONE = { configVersion: null, own: NO_POLICIES };

const readEffective = operation("config.read_effective", {
  look: (reader, context, input) =>
    readAsOf<{ shown: JsonObject | null }>(reader, context, input, { shown: null }, async (own, agent, at) => ({
      shown: at === undefined ? null : await effectiveAt(own, agent, at),
    })),
  async run(_reader, context, { agentId }, looked) {
    const agent = await context.agents.find(agentId);
    if (looked?.no !== undefined) return noMoment(agent, agentId, looked.no);
    const now = () => showInForce(agent ?? NONE, context.agents.workspacePolicies, context.nowMs);
    const moment = showMoment(looked);
    const body = { agent_id: agentId, ...(looked?.shown ?? now()), ...moment };
    return answered(agent, naming(agent, agentId, moment), JSON.stringify(body));
  },
});

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
  "config.read": readConfig,
  "config.update": { run: updateConfig },
  "config.list_versions": { run: listConfigVersions },
  "config.read_version": { run: readVersion },
  "config.read_effective": readEffective,
  "config.rollback": { run: rollbackConfig },
};
