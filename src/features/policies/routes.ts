/** The HTTP routes of policies. */
import { Type as t } from "@sinclair/typebox";
import { AgentId, Key, Metadata, Value } from "../../http/fields.ts";
import { checkWorkspaceWide } from "../../http/pipeline/scopes.ts";
import { route } from "../../http/route.ts";
import { object } from "../../http/shapes.ts";
import type { JsonObject } from "../../json.ts";
import { explainPolicies, Policies } from "../config/schema.ts";
import { requireMeaning } from "../config/settings-schema.ts";
import { CheckResult } from "./schema.ts";

export const policyRoutes = [
  route({
    operation: "policy.check",
    at: "POST /v1/policies/check",
    body: object({
      agent_id: t.Optional(AgentId),
      policies: t.Optional(Policies),
      key: t.Optional(Key),
      value: Value,
      metadata: t.Optional(Metadata),
    }),
    explain: explainPolicies,
    input: ({ body, principal }) => {
      const { agent_id: agentId, policies, key = "", value, metadata = {} } = body;
      if (agentId === undefined) checkWorkspaceWide(principal);
      requireMeaning(policies as JsonObject | undefined);
      return { agentId: agentId ?? null, policies: (policies as JsonObject | undefined) ?? null, key, value, metadata };
    },
    summary: "Check a text",
    description:
      "Says what a write would answer, under the policies of the agent or under `policies`, and stores nothing. Without either, nothing objects. The event does not contain the text.",
    response: {
      description: "What a write would answer, without `audit_id`.",
      schema: CheckResult,
      example: { allowed: true, message: "Nothing objects. Nothing was stored." },
    },
  }),
];
