/** The HTTP routes of configs. */

import { Type as t } from "@sinclair/typebox";
import { isAgentId } from "../../agent-id.ts";
import { canonicalBytes, MAX_CONFIG_BYTES, NEWEST_FIRST, oldestFirst, PAGE_PARAMETERS } from "../../api/fields.ts";
import { AsOfField, asOfIn } from "../../api/moment.ts";
import { listInput } from "../../api/page.ts";
import { route } from "../../api/route.ts";
import { object } from "../../api/shapes.ts";
import type { JsonObject } from "../../json.ts";
import { NO_MOMENT_CODES } from "../../operations.ts";
import { invalid, Problem } from "../../problem.ts";
import { ConfigBody, ConfigVersion, ConfigVersionList, EffectivePolicies, explainPolicies } from "./schema.ts";
import { requireMeaning } from "./settings-schema.ts";

/** The response with a version. */
const version = (description: string) => ({ description, schema: ConfigVersion, etag: true });

/** @throws {Problem} when no agent can have the id. (An id without an agent is not an error.) */
function requireAgentId(id: string): void {
  if (isAgentId(id)) return;
  throw new Problem("agent_not_found", "No agent can have this id: 1 to 128 of A-Z a-z 0-9 . _ : @ ~ -");
}

export const configRoutes = [
  route({
    operation: "config.read",
    at: "GET /v1/config/:agent_id",
    query: object({ as_of: t.Optional(AsOfField) }),
    unfindable: "config_not_found",
    input: ({ params, query }) => ({ agentId: params.agent_id, ...asOfIn(query.as_of) }),
    summary: "Read the config in force",
    description: "The newest version of the agent's config, or the one at an earlier moment. Its ETag is the version.",
    response: version("The config."),
    problems: NO_MOMENT_CODES,
  }),

  route({
    operation: "config.update",
    at: "PUT /v1/config/:agent_id",
    body: ConfigBody,
    explain: explainPolicies,
    unfindable: "agent_not_found",
    input: ({ params, body, condition }) => {
      // An update can create the agent.
      requireAgentId(params.agent_id);
      const config = body as JsonObject;
      if (canonicalBytes(config) > MAX_CONFIG_BYTES) {
        throw invalid(`The config is too large. Send at most ${MAX_CONFIG_BYTES} bytes as canonical JSON.`, "config");
      }
      requireMeaning(config.policies as JsonObject | undefined);
      return { agentId: params.agent_id, config, ...(condition && { condition }) };
    },
    summary: "Replace the config",
    description:
      "Makes a new version from the body, which replaces the whole config. The policies apply to every write after this one in the audit trail.",
    response: version("The new version."),
    problems: ["unknown_policy"],
    conditional: true,
  }),

  route({
    operation: "config.list_versions",
    at: "GET /v1/config/:agent_id/versions",
    query: object({ ...NEWEST_FIRST, ...PAGE_PARAMETERS }),
    unfindable: "agent_not_found",
    input: ({ params, query }) =>
      listInput("config.list_versions", { agentId: params.agent_id, ...oldestFirst(query) }, query),
    summary: "List config versions",
    description: "Without the configs themselves but with each version's policies.",
    response: { description: "One page of versions.", schema: ConfigVersionList },
  }),

  route({
    operation: "config.read_version",
    at: "GET /v1/config/:agent_id/versions/:version",
    unfindable: "version_not_found",
    input: ({ params }) => ({ agentId: params.agent_id, version: params.version }),
    summary: "Read one config version",
    description: "One version. Versions are immutable.",
    response: version("The version."),
    problems: ["config_not_found"],
  }),

  route({
    operation: "config.read_effective",
    at: "GET /v1/config/:agent_id/effective",
    query: object({ as_of: t.Optional(AsOfField) }),
    unfindable: "agent_not_found",
    input: ({ params, query }) => {
      requireAgentId(params.agent_id);
      return { agentId: params.agent_id, ...asOfIn(query.as_of) };
    },
    summary: "Read the policies in force",
    description:
      "What holds for the agent, also before it has a config: of each part, the stricter one of its config and of the workspace's policies.",
    response: { description: "The policies.", schema: EffectivePolicies },
    problems: NO_MOMENT_CODES,
  }),

  route({
    operation: "config.rollback",
    at: "POST /v1/config/:agent_id/rollback",
    body: object({
      version: t.String({ description: "The version to go back to: a string such as v1.", examples: ["v1"] }),
    }),
    unfindable: "config_not_found",
    input: ({ params, body, condition }) => ({
      agentId: params.agent_id,
      version: body.version,
      ...(condition && { condition }),
    }),
    summary: "Roll back to a version",
    description: "Makes a new version with the content of an earlier one. History is never rewritten.",
    response: version("The new version."),
    problems: ["version_not_found"],
    conditional: true,
  }),
];
