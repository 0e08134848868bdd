/** What each role and scope allows. */
import type { Role, Scope } from "../api/types.ts";

export const ROLE_WORDS: Record<Role, string> = {
  owner: "everything, members and API keys included.",
  member: "agents, their configuration, data and checkpoints; no changes to members and keys.",
  auditor: "reading the audit log and configurations, verifying and exporting; no stored values, no changes.",
};

export const SCOPE_WORDS: Record<Scope, string> = {
  full: "everything in the workspace",
  agent: "data and checkpoints; reads configurations, cannot change them",
  auditor: "audit log and configurations, reading only; no stored values",
};
