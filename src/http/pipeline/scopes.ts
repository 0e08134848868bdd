/** What each scope of an API key allows. */
import type { OperationName, Principal } from "../../workspace/contract.ts";
import { Problem } from "../problem.ts";

type Scope = Principal["scope"];

/** Data, checkpoints, reading its config. */
const AGENT: readonly OperationName[] = [
  "config.read",
  "config.list_versions",
  "config.read_version",
  "checkpoint.create",
  "checkpoint.list",
  "checkpoint.read",
  "checkpoint.restore",
  "checkpoint.delete",
  "data.write",
  "data.read",
  "data.read_full",
  "data.list",
  "data.search",
  "data.delete",
  "data.delete_prefix",
];

/** The audit trail, configs and lists of checkpoints; no stored values. */
const AUDITOR: readonly OperationName[] = [
  "config.read",
  "config.list_versions",
  "config.read_version",
  "checkpoint.list",
  "audit.query",
  "audit.read",
  "audit.receipt",
  "audit.seal",
  "audit.key",
  "audit.consistency",
  "audit.anchors",
  "audit.verify",
  "audit.export",
  "audit.stream",
  "audit.activity",
  "agent.list",
  "agent.read",
];

const ALLOWED: Record<Exclude<Scope, "full">, ReadonlySet<OperationName>> = {
  agent: new Set(AGENT),
  auditor: new Set(AUDITOR),
};

/** The scopes whose keys may ask for an operation, for the documentation. */
export function scopesOf(operation: OperationName): Scope[] {
  const scopes: Scope[] = ["full"];
  if (ALLOWED.agent.has(operation)) scopes.push("agent");
  if (ALLOWED.auditor.has(operation)) scopes.push("auditor");
  return scopes;
}

/** @throws {Problem} `forbidden` when the key's scope does not allow the operation. */
export function checkScope(principal: Principal, operation: OperationName): void {
  if (principal.scope === "full" || ALLOWED[principal.scope].has(operation)) return;
  throw new Problem(
    "forbidden",
    `A key of scope "${principal.scope}" does not allow ${operation}. Use a key of scope ${scopesOf(operation)
      .map((scope) => `"${scope}"`)
      .join(" or ")}.`,
  );
}

/** @throws {Problem} `forbidden` when the key is limited to agents and this is none of them. */
export function checkAgent(principal: Principal, agentId: string): void {
  if (principal.agents === null || principal.agents.includes(agentId)) return;
  throw new Problem("forbidden", "This key is limited to other agents. Use a key that allows this agent.");
}

/** @throws {Problem} `forbidden` when the key is limited to agents, since this is about all of them. */
export function checkWorkspaceWide(principal: Principal): void {
  if (principal.agents === null) return;
  throw new Problem("forbidden", "This key is limited to named agents. Use a key without that limit.");
}
