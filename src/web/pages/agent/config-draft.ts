/** A configuration as the form edits it. Converting it back and forth loses nothing. */
import type { JsonValue } from "../../../json.ts";
import { allPolicies } from "../../../policy/policies.ts";
import type { SettingForm } from "../../../policy/policy.ts";
import { badInput } from "../../api/problem.ts";
import type { JsonObject } from "../../api/types.ts";

export interface Draft {
  /** By the policy's name: whether it is on, or its number or JSON text as typed, empty for none. */
  policies: Readonly<Record<string, boolean | string>>;
  model: string;
  instructions: string;
  /** Every other member, as JSON text. */
  rest: string;
}

/** Members that have their own control. */
const OWN = new Set(["policies", "model", "instructions"]);

export function draftOf(config: JsonObject): Draft {
  const policies = (config.policies ?? {}) as JsonObject;
  const rest = Object.fromEntries(Object.entries(config).filter(([name]) => !OWN.has(name)));
  return {
    policies: Object.fromEntries(allPolicies().map(([name, { form }]) => [name, asTyped(form, policies[name])])),
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
    policies: Object.fromEntries(
      allPolicies()
        .map(([name, { form, display }]) => [name, asSetting(name, form, display.label, draft.policies[name] ?? "")])
        .filter(([, setting]) => setting !== ""),
    ),
    ...rest,
  };
}

/** Returns what is not a number as it is, so that the daemon explains what it accepts. */
const numberIn = (text: string): number | string => (/^\d+$/.test(text) ? Number(text) : text);

function asTyped(form: SettingForm, setting: JsonValue | undefined): boolean | string {
  if (form.type === "boolean") return setting === true;
  if (setting === undefined || setting === null) return "";
  return form.type === "object" ? JSON.stringify(setting, null, 2) : String(setting);
}

/** @throws {ApiProblem} when the text of an object is none */
function asSetting(name: string, form: SettingForm, label: string, typed: boolean | string): JsonValue {
  if (typeof typed === "boolean") return typed;
  if (form.type !== "object" || typed.trim() === "") return numberIn(typed.trim());
  return parseObject(`policies.${name}`, `"${label}"`, typed, '{"pii": {"mode": "audit"}}') as JsonValue;
}

function parseRest(text: string): JsonObject {
  const rest = parseObject("rest", '"Everything else"', text, '{"temperature": 0.2}');
  const twice = Object.keys(rest).find((name) => OWN.has(name));
  if (twice !== undefined) throw badInput("rest", `"${twice}" has a field of its own above. Take it out of the JSON.`);
  return rest;
}

/** Returns the object in the JSON text of a field. @throws {ApiProblem} when it is not an object, such as `example`. */
export function parseObject(param: string, name: string, text: string, example: string): JsonObject {
  if (text.trim() === "") return {};
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw badInput(param, `${name} is not JSON: ${(error as Error).message}`);
  }
  if (value === null || typeof value !== "object" || Array.isArray(value)) {
    throw badInput(param, `${name} must be a JSON object, such as ${example}.`);
  }
  return value as JsonObject;
}
