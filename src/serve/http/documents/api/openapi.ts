/** The OpenAPI document of `/v1`, for programs with an API key. */
import { type TProperties, Type as t } from "@sinclair/typebox";
import type { Route } from "../../../../api/route.ts";
import { object } from "../../../../api/shapes.ts";
import { SCOPES } from "../../../../operation-facts.ts";
import { leavesNoTrace, partsOf, scopesOf } from "../../../../operations.ts";
import type { Components } from "./components.ts";
import { type Described, describedRoute, documentJson, INFO } from "./document.ts";
import { MCP_OPERATIONS } from "./mcp.ts";
import { ACCOUNT_API_PATH } from "./page.ts";
import { probeResponses } from "./responses.ts";

const TAGS = [
  { name: "Agents", description: "All agents at a glance, and the switch that suspends one." },
  { name: "Config", description: "Versioned configs. Their `policies` are enforced." },
  { name: "Checkpoints", description: "Snapshots of an agent's state." },
  { name: "Data", description: "Governed key-value data." },
  { name: "Quarantine", description: "Versions that are set aside: no program sees them." },
  { name: "Policies", description: "What policies decide, without a write." },
  { name: "Audit", description: "The hash-chained trail of every operation." },
  { name: "Lineage", description: "What led to a write, and what followed from it." },
  { name: "Proofs", description: "Files that prove what was stored at a time, and what was not." },
  {
    name: "Tlog-tiles",
    description: "The audit trail as tiles (C2SP tlog-tiles), for stock clients of transparency logs.",
  },
  { name: "Sinks", description: "Receivers outside to which events are delivered." },
  { name: "MCP", description: "The operations as tools of the Model Context Protocol." },
  { name: "Service", description: "Probes. They need no key." },
];

const DESCRIPTION = `Versioned configs with enforced policies, governed key-value data, checkpoints, and a hash-chained audit trail. Operations are recorded unless their description says otherwise, \`dataReadFull\` as \`data.read_full\`; \`X-Audit-Id\` names the event. Errors are problem documents (RFC 9457). In request bodies, null for an optional member means the same as leaving it out.

Every request needs an API key in \`X-API-Key\` or as \`Authorization: Bearer\`. The dashboard sends its session and \`X-Workspace-Id\` instead (\`${ACCOUNT_API_PATH}\`). What a person only looks at is recorded as \`dashboard.view\`.`;

const API_KEY = {
  type: "apiKey",
  in: "header",
  name: "X-API-Key",
  description: "A key belongs to one workspace and selects it. It is secret: keep it out of client-side code.",
};

/** Returns the document of `/v1` as JSON text. It is slow, so call it once. */
export function openApiJson(routes: readonly Route[]): Promise<string> {
  const about = {
    info: { title: "governd", summary: "Governance for software agents.", description: DESCRIPTION, ...INFO },
    tags: TAGS,
    security: [{ ApiKey: [] }],
  };
  const described = routes.map((route) => describedRoute(named(route), tagOf(route.operation), recordedAs(route)));
  return documentJson(about, { ApiKey: API_KEY }, [...described, ...MCP_OPERATIONS, ...PROBES]);
}

/** The one operation with two paths is public below a workspace's id. */
const named = (route: Route): Route =>
  route.path.includes(":workspace_id") ? { ...route, name: `public.${route.operation}` } : route;

/** Returns what an operation is recorded as, unless that follows from its name, and the scopes that allow it. */
function recordedAs({ operation, name, variant }: Route): string {
  const names = [...partsOf(operation), ...(variant === undefined ? [] : [variant.operation])];
  const quoted = names.map((name) => `\`${name}\``).join(" or ");
  const recorded = leavesNoTrace(operation)
    ? "Not recorded. "
    : names.length > 1 || name !== operation
      ? `Recorded as ${quoted}. `
      : "";
  const allowed = scopesOf(operation);
  const scopes = allowed.length === SCOPES.length ? ["any"] : allowed;
  return `${recorded}Scopes: ${scopes.join(", ")}.`;
}

/**
 * Returns the tag whose name begins with the operation's word: `Agents` for `agent.list`, `Policies` for
 * `policy.check`.
 */
function tagOf(operation: string): string {
  const [word = ""] = operation.replace(/y\./, ".").split(".");
  return TAGS.find(({ name }) => name.toLowerCase().startsWith(word))?.name as string;
}

function probe(path: string, operationId: string, status: string, words: [string, string], more: TProperties = {}) {
  const [summary, description] = words;
  const schema = object({ status: t.Literal(status), ...more });
  return {
    method: "GET",
    path,
    describe: (components: Components) => ({
      operationId,
      tags: ["Service"],
      summary,
      description,
      security: [],
      responses: probeResponses(schema, operationId, components),
    }),
  };
}

const PROBES: readonly Described[] = [
  probe("/healthz", "health", "ok", ["Is the daemon alive?", "Returns 200 as soon as the daemon serves requests."]),
  probe(
    "/readyz",
    "ready",
    "ready",
    ["Can the daemon take requests?", "503 `unavailable` while the storage cannot be written."],
    {
      workspaces_down: t.Optional(
        t.Integer({
          minimum: 1,
          description: "How many workspaces have unusable files; absent for none. The others work.",
        }),
      ),
    },
  ),
];
