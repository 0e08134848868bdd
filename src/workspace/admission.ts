/** Whether an agent may write at all, whatever it writes. */
import { type Decision, findingsOf, type Refused } from "../policy/decide.ts";
import { REQUIRE_CONFIG } from "../policy/floor.ts";
import type { AgentState } from "../state/agents.ts";

/** What refuses a write whatever it contains. */
export type Bar = Omit<Refused, "allowed" | "findings">;

const NO_CONFIG: Bar = {
  blockedBy: `policy:${REQUIRE_CONFIG}`,
  message:
    "Blocked, nothing was changed: the workspace lets no agent write that has no configuration. Make one with PUT /v1/config/{agent_id}, then write again.",
};

/** Returns what keeps an agent from writing; null for nothing. */
export const barOf = ({ floor, configVersion }: AgentState): Bar | null =>
  floor.requireConfig && configVersion === null ? NO_CONFIG : null;

/** Returns the decision about a write to which there is a bar, or none. It names what was found in the content, too. */
export const underBar = (bar: Bar | null, decision: Decision): Decision =>
  bar === null ? decision : { allowed: false, ...bar, findings: [...findingsOf(decision)] };
