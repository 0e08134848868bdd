/** What a form of policies lends to the tools beside it. */
import type { JsonObject } from "../../api/types.ts";

/** The policies of a form. */
export interface Edited {
  /** The agent whose policies they are; null for those of the workspace. */
  agentId: string | null;
  changed: boolean;
  /** Returns what is typed. @throws {ApiProblem} when it cannot be sent */
  policies(): JsonObject;
}
