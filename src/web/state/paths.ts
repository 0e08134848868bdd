/** The addresses of the dashboard's pages. */
import { address, segment } from "../api/client.ts";

export const paths = {
  workspace: (id: string) => `/workspaces/${id}`,
  agents: (id: string) => `/workspaces/${id}/agents`,
  trail: (id: string) => `/workspaces/${id}/trail`,
  proof: (id: string) => `/workspaces/${id}/proof`,
  keys: (id: string) => `/workspaces/${id}/keys`,
  members: (id: string) => `/workspaces/${id}/members`,
  agent: (id: string, agent: string) => `/workspaces/${id}/agents/${segment(agent)}`,
  versions: (id: string, agent: string) => `${paths.agent(id, agent)}/versions`,
  data: (id: string, agent: string, query: { prefix?: string; key?: string } = {}) =>
    address(`${paths.agent(id, agent)}/data`, query),
  checkpoints: (id: string, agent: string) => `${paths.agent(id, agent)}/checkpoints`,
  checkpoint: (id: string, agent: string, checkpoint: string) =>
    `${paths.checkpoints(id, agent)}/${segment(checkpoint)}`,
  audit: (id: string, agent: string, query: { event?: string; result?: string } = {}) =>
    address(`${paths.agent(id, agent)}/audit`, query),
  event: (id: string, event: string) => `/workspaces/${id}/events/${segment(event)}`,
} as const;
