/** Reads the rules of workload identity: `[[workload]]` in the settings file, a list in JSON elsewhere. */
import { resolve } from "node:path";
import { isAgentId } from "../agent-id.ts";
import { isId } from "../ids.ts";
import { isJsonObject } from "../json.ts";
import { plainIssuer } from "../oidc/answers.ts";
import type { ClaimPattern, ClaimPatterns, WorkloadRule } from "../oidc/workload-rules.ts";
import { SCOPES } from "../operation-facts.ts";
import { isIssuer, type Kind, Mistaken } from "./values.ts";

const MEMBERS = ["issuer", "audience", "ca_file", "workspace", "scope", "agents", "claims"];
const NEEDED = ["issuer", "audience", "workspace", "scope", "claims"];

export const workloads: Kind<WorkloadRule[]> = {
  metavar: "json",
  read(raw, base) {
    const items = typeof raw === "string" ? parsed(raw) : raw;
    if (!Array.isArray(items)) throw new Mistaken("must be a list of rules, in the settings file [[workload]] each");
    const rules = items.map((item, index) => ruleOf(typeof item === "string" ? parsed(item) : item, index + 1, base));
    const authorities = new Map<string, string | null>();
    for (const { issuer, caFile } of rules) {
      const name = plainIssuer(issuer);
      const other = authorities.get(name) ?? caFile;
      if (authorities.has(name) && other !== caFile) {
        throw new Mistaken("must have the same ca_file in all rules of one issuer");
      }
      authorities.set(name, caFile);
    }
    return rules;
  },
  show: (rules) =>
    rules.map(({ caFile, workspaceId, agents, ...rule }) =>
      JSON.stringify({
        ...rule,
        ...(caFile !== null && { ca_file: caFile }),
        workspace: workspaceId,
        ...(agents !== null && { agents }),
      }),
    ),
};

function parsed(text: string): unknown {
  try {
    return text.trim() === "" ? [] : JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) throw new Mistaken("must be JSON");
    throw error;
  }
}

/** Returns a rule. `number` is its position in the list, for messages. @throws {Mistaken} */
function ruleOf(item: unknown, number: number, base: string): WorkloadRule {
  const mistaken = (what: string) => new Mistaken(`rule ${number}: ${what}`);
  if (!isJsonObject(item)) throw mistaken("must be a table");
  const unknown = Object.keys(item).find((name) => !MEMBERS.includes(name));
  if (unknown !== undefined) throw mistaken(`there is no member but ${MEMBERS.join(", ")}`);
  const missing = NEEDED.find((name) => item[name] === undefined);
  if (missing !== undefined) throw mistaken(`${missing} is needed`);
  const { issuer, audience, ca_file: caFile = null, workspace, scope, agents = null, claims } = item;
  if (typeof issuer !== "string" || !isIssuer(issuer))
    throw mistaken("issuer must be an https address without a query");
  if (typeof audience !== "string" || audience === "") throw mistaken("audience must be a text");
  if (caFile !== null && (typeof caFile !== "string" || caFile === "")) throw mistaken("ca_file must be a path");
  if (typeof workspace !== "string" || !isId("ws", workspace))
    throw mistaken("workspace must be a workspace's id, ws_…");
  const known = SCOPES.find((one) => one === scope);
  if (known === undefined) throw mistaken(`scope must be one of ${SCOPES.join(", ")}`);
  if (agents !== null && (!Array.isArray(agents) || agents.length === 0 || !agents.every(isAgent))) {
    throw mistaken("agents must be a list of agent ids");
  }
  if (!isJsonObject(claims) || !isPatterns(claims) || Object.keys(claims).length === 0) {
    throw mistaken('claims must say which tokens fit, for example { sub = "repo:acme/*" }');
  }
  return {
    issuer,
    audience,
    caFile: caFile === null ? null : resolve(base, caFile),
    workspaceId: workspace,
    scope: known,
    agents: agents as string[] | null,
    claims,
  };
}

const isAgent = (item: unknown): boolean => typeof item === "string" && isAgentId(item);

function isPatterns(value: object): value is ClaimPatterns {
  return Object.values(value).every(isPattern);
}

function isPattern(value: unknown): value is ClaimPattern {
  if (typeof value === "string") return value !== "";
  if (Array.isArray(value)) return value.length > 0 && value.every((item) => typeof item === "string" && item !== "");
  return isJsonObject(value) && isPatterns(value) && Object.keys(value).length > 0;
}
