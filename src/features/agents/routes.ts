/** The HTTP routes of agents as a whole. */
import { listInput } from "../../http/page.ts";
import { checkWorkspaceWide } from "../../http/pipeline/scopes.ts";
import { route } from "../../http/route.ts";
import { AgentList, AgentShape, AgentsQuery, SwitchBody } from "./schema.ts";

const list = route({
  operation: "agent.list",
  method: "GET",
  path: "/v1/agents",
  query: AgentsQuery,
  input: ({ query, principal }) => {
    checkWorkspaceWide(principal);
    return listInput("agent.list", { prefix: query.prefix ?? "" }, query);
  },
  docs: {
    summary: "List agents",
    description: "Every agent, by id: what it holds, what it did, and which policies are in force.",
    response: { description: "One page of agents.", schema: AgentList },
  },
});

const read = route({
  operation: "agent.read",
  method: "GET",
  path: "/v1/agents/:agent_id",
  unfindable: "agent_not_found",
  input: ({ params }) => ({ agentId: params.agent_id }),
  docs: {
    summary: "Read one agent",
    description: "One agent, with the same members as in the list.",
    response: { description: "The agent.", schema: AgentShape },
  },
});

const suspend = route({
  operation: "agent.suspend",
  method: "POST",
  path: "/v1/agents/:agent_id/suspend",
  body: SwitchBody,
  bodyOptional: true,
  unfindable: "agent_not_found",
  input: ({ params, body }) => ({ agentId: params.agent_id, reason: body.reason ?? null }),
  docs: {
    summary: "Suspend an agent",
    description:
      "From now on its data and checkpoint operations return 403 `agent_suspended` to everyone and are recorded as `denied`. Its config and its trail stay available.",
    response: { description: "The agent.", schema: AgentShape },
    requestExample: { reason: "It writes card numbers." },
  },
});

const resume = route({
  operation: "agent.resume",
  method: "POST",
  path: "/v1/agents/:agent_id/resume",
  body: SwitchBody,
  bodyOptional: true,
  unfindable: "agent_not_found",
  input: ({ params, body }) => ({ agentId: params.agent_id, reason: body.reason ?? null }),
  docs: {
    summary: "Resume an agent",
    description: "Ends a suspension.",
    response: { description: "The agent.", schema: AgentShape },
    requestExample: { reason: "Fixed in release 4.2." },
  },
});

export const agentRoutes = [list, read, suspend, resume];
