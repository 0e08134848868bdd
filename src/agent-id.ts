/** The ids of agents, which their clients choose. */

/** The form of an agent's id, as a regular expression. */
export const AGENT_ID_FORM = "[A-Za-z0-9._:@~-]{1,128}";

const AGENT_ID = new RegExp(`^${AGENT_ID_FORM}$`);

/** Reports whether a text is an agent's id. */
export const isAgentId = (text: string): boolean => AGENT_ID.test(text);
