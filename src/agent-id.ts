/** The ids of agents, which their clients choose, and limits to some of them. */

/** The form of an agent's id, as a regular expression. */
export const AGENT_ID_FORM = "[A-Za-z0-9._:@~-]{1,128}";

const AGENT_ID = new RegExp(`^${AGENT_ID_FORM}$`);

/** Reports whether a text is an agent's id. */
export const isAgentId = (text: string): boolean => AGENT_ID.test(text);

/** The agents whose things a request may find: those that it names or its key is limited to. Null for everything. */
export type AgentLimit = readonly string[] | null;

/** Reports whether something of an agent is within a limit. `agentId`: null for what is the workspace's own. */
export const isWithin = (limit: AgentLimit, agentId: string | null): boolean =>
  limit === null || (agentId !== null && limit.includes(agentId));
