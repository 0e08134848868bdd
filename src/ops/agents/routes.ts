/** The HTTP routes of agents as a whole. */
import { Type as t } from "@sinclair/typebox";
import { AgentIdPart, Label, PAGE_PARAMETERS, Prefix } from "../../api/fields.ts";
import { listInput } from "../../api/page.ts";
import { route } from "../../api/route.ts";
import { checkWorkspaceWide } from "../../api/scopes.ts";
import { object } from "../../api/shapes.ts";
import { AgentList, AgentShape } from "./schema.ts";

/** The route that suspends an agent or ends its suspension. */
const switching = (name: "suspend" | "resume", words: { summary: string; description: string }) =>
  route({
    operation: `agent.${name}`,
    at: `POST /v1/agents/:agent_id/${name}` as const,
    body: object({ reason: t.Optional({ ...Label, examples: ["It wrote card numbers."] }) }),
    bodyOptional: true,
    unfindable: "agent_not_found",
    input: ({ params, body }) => ({ agentId: params.agent_id, reason: body.reason ?? null }),
    ...words,
    response: { description: "The agent.", schema: AgentShape },
    problems: ["blocked"],
  });

export const agentRoutes = [
  route({
    operation: "agent.list",
    at: "GET /v1/agents",
    query: object({ prefix: t.Optional(Prefix), contains: t.Optional(AgentIdPart), ...PAGE_PARAMETERS }),
    input: ({ query: { prefix = "", contains, ...page }, principal }) => {
      checkWorkspaceWide(principal);
      return listInput("agent.list", { prefix, ...(contains !== undefined && { contains }) }, page);
    },
    summary: "List agents",
    description: "Every agent, by id: what it holds, what it did, and which policies are in force.",
    response: { description: "One page of agents.", schema: AgentList, compressed: true },
  }),

  route({
    operation: "agent.read",
    at: "GET /v1/agents/:agent_id",
    unfindable: "agent_not_found",
    input: ({ params }) => ({ agentId: params.agent_id }),
    summary: "Read one agent",
    description: "One agent, with the same members as in the list.",
    response: { description: "The agent.", schema: AgentShape },
  }),

  switching("suspend", {
    summary: "Suspend an agent",
    description:
      "From now on its data and checkpoint operations return 403 `agent_suspended` and are recorded as `denied`, whatever key asks. People who are signed in can still look at both. Its config and its trail stay available.",
  }),

  switching("resume", { summary: "Resume an agent", description: "Ends a suspension." }),
];
