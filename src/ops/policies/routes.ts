/** The HTTP routes of policies. */
import { Type as t } from "@sinclair/typebox";
import {
  AgentId,
  canonicalBytes,
  Key,
  MAX_CONFIG_BYTES,
  Metadata,
  NEWEST_FIRST,
  oldestFirst,
  PAGE_PARAMETERS,
  Value,
} from "../../api/fields.ts";
import { listInput } from "../../api/page.ts";
import { route } from "../../api/route.ts";
import { checkWorkspaceWide } from "../../api/scopes.ts";
import { object } from "../../api/shapes.ts";
import type { JsonObject } from "../../json.ts";
import { invalid } from "../../problem.ts";
import { policiesMembers } from "../../screen/workspace-policies.ts";
import { explainPolicies, Policies } from "../config/schema.ts";
import { requireMeaning } from "../config/settings-schema.ts";
import {
  CheckResult,
  PoliciesInForce,
  PoliciesVersion,
  PoliciesVersionList,
  ReplayResult,
  WorkspacePoliciesBody,
} from "./schema.ts";

/** The response with a version. */
const version = (description: string) => ({ description, schema: PoliciesVersion, etag: true }) as const;

const wantsLines = (headers: Headers): boolean => (headers.get("accept") ?? "").includes("application/x-ndjson");

export const policyRoutes = [
  route({
    operation: "policies.read",
    at: "GET /v1/policies",
    input: () => ({}),
    summary: "Read the workspace's policies",
    description:
      "The policies that hold for every agent, also for agents without a config. The ETag is the version; before the first one there is none.",
    response: { description: "The version in force.", schema: PoliciesInForce, etag: true },
  }),

  route({
    operation: "policies.update",
    at: "PUT /v1/policies",
    body: WorkspacePoliciesBody,
    explain: explainPolicies,
    input: ({ principal, body, condition }) => {
      checkWorkspaceWide(principal);
      const workspacePolicies = policiesMembers(body as JsonObject);
      if (canonicalBytes(workspacePolicies) > MAX_CONFIG_BYTES) {
        throw invalid(
          `The policies are too large. Send at most ${MAX_CONFIG_BYTES} bytes as canonical JSON.`,
          "policies",
        );
      }
      requireMeaning(body.policies as JsonObject | undefined);
      return { workspacePolicies, ...(condition && { condition }) };
    },
    summary: "Replace the workspace's policies",
    description:
      "Makes a new version from the body, which replaces all of them. They hold for every write after this one in the audit trail, beside the policies of the agent's config: of each part, the stricter one counts. The key must not be limited to agents.",
    response: version("The new version."),
    problems: ["unknown_policy"],
    conditional: true,
  }),

  route({
    operation: "policies.list_versions",
    at: "GET /v1/policies/versions",
    query: object({ ...NEWEST_FIRST, ...PAGE_PARAMETERS }),
    input: ({ query }) => listInput("policies.list_versions", oldestFirst(query), query),
    summary: "List versions of the workspace's policies",
    description: "Every version, with its policies.",
    response: { description: "One page of versions.", schema: PoliciesVersionList },
  }),

  route({
    operation: "policies.read_version",
    at: "GET /v1/policies/versions/:version",
    unfindable: "version_not_found",
    input: ({ params }) => ({ version: params.version }),
    summary: "Read one version of the workspace's policies",
    description: "One version. Versions are immutable.",
    response: version("The version."),
  }),

  route({
    operation: "policy.check",
    at: "POST /v1/policies/check",
    // With policies that redact, the answer has the rest of a text that must be stored nowhere.
    retryable: false,
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
    response: { description: "What a write would answer, without `audit_id`.", schema: CheckResult },
  }),

  route({
    operation: "policy.replay",
    at: "POST /v1/policies/replay",
    retryable: false,
    body: object({ agent_id: t.Optional(AgentId), policies: Policies }),
    explain: explainPolicies,
    input: ({ body, headers, principal }) => {
      const { agent_id: agentId } = body;
      if (agentId === undefined) checkWorkspaceWide(principal);
      const policies = body.policies as JsonObject;
      requireMeaning(policies);
      return { agentId: agentId ?? null, policies, form: wantsLines(headers) ? "ndjson" : "json" };
    },
    summary: "Replay policies",
    description:
      "What `policies` would decide about every stored entry, of one agent or of all. With `Accept: application/x-ndjson`, lines of progress precede the result.",
    response: {
      streamed: true,
      description: "What would become of the entries.",
      schema: ReplayResult,
      otherTypes: ["application/x-ndjson"],
    },
    headers: { Accept: { description: "Lines of progress before the result.", example: "application/x-ndjson" } },
  }),
];
