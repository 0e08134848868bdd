/** A configuration as the form edits it. Converting it back and forth loses nothing. */
import { badInput } from "../../api/problem.ts";
import type { JsonObject } from "../../api/types.ts";
import { parseObject } from "../../ui/json-text.ts";
import { draftOfPolicies, type PolicyDraft, toPolicies } from "../policies/draft.ts";

export interface Draft {
  policies: PolicyDraft;
  model: string;
  instructions: string;
  /** Every other member, as JSON text. */
  rest: string;
}

/** Members that have their own control. */
const OWN = new Set(["policies", "model", "instructions"]);

export function draftOf(config: JsonObject): Draft {
  const rest = Object.fromEntries(Object.entries(config).filter(([name]) => !OWN.has(name)));
  return {
    policies: draftOfPolicies((config.policies ?? {}) as JsonObject),
    model: typeof config.model === "string" ? config.model : "",
    instructions: typeof config.instructions === "string" ? config.instructions : "",
    rest: JSON.stringify(rest, null, 2),
  };
}

/**
 * Returns the configuration of a draft.
 * @throws {ApiProblem} when the rest is not a JSON object, or repeats a member that has its own field.
 */
export function toConfig(draft: Draft): JsonObject {
  const rest = parseRest(draft.rest);
  return {
    ...(draft.model === "" ? {} : { model: draft.model }),
    ...(draft.instructions === "" ? {} : { instructions: draft.instructions }),
    policies: toPolicies(draft.policies),
    ...rest,
  };
}

function parseRest(text: string): JsonObject {
  const rest = parseObject("rest", '"Everything else"', text, '{"temperature": 0.2}');
  const twice = Object.keys(rest).find((name) => OWN.has(name));
  if (twice !== undefined) throw badInput("rest", `"${twice}" has a field of its own above. Take it out of the JSON.`);
  return rest;
}
