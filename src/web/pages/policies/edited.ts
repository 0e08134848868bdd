/** The edited policies of a form, for the tools beside it. */
import type { JsonObject } from "../../api/types.ts";

/** The policies of a form. */
export interface Edited {
  /** The agent whose policies they are; null for the workspace's. */
  agentId: string | null;
  changed: boolean;
  /** Returns the policies as typed. @throws {ApiProblem} when they cannot be sent */
  policies(): JsonObject;
}
