/** A configuration as the form edits it. Converting it back and forth loses nothing. */
import type { JsonObject } from "../../api/types.ts";

export interface Draft {
  blockPii: boolean;
  blockSecrets: boolean;
  /** Digits, or empty for no limit. */
  retentionDays: string;
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
    blockPii: policies.block_pii === true,
    blockSecrets: policies.block_secrets === true,
    retentionDays: policies.retention_days === undefined ? "" : String(policies.retention_days),
    model: typeof config.model === "string" ? config.model : "",
    instructions: typeof config.instructions === "string" ? config.instructions : "",
    rest: JSON.stringify(rest, null, 2),
  };
}

/**
 * Returns the configuration of a draft.
 * @throws {Error} when the rest is not a JSON object, or repeats a member that has its own field.
 */
export function toConfig(draft: Draft): JsonObject {
  const rest = parseRest(draft.rest);
  const days = draft.retentionDays.trim();
  return {
    ...(draft.model === "" ? {} : { model: draft.model }),
    ...(draft.instructions === "" ? {} : { instructions: draft.instructions }),
    policies: {
      block_pii: draft.blockPii,
      block_secrets: draft.blockSecrets,
      // What is not a number is sent as it is, so that the daemon explains what it accepts.
      ...(days === "" ? {} : { retention_days: /^\d+$/.test(days) ? Number(days) : days }),
    },
    ...rest,
  };
}

function parseRest(text: string): JsonObject {
  if (text.trim() === "") return {};
  let rest: unknown;
  try {
    rest = JSON.parse(text);
  } catch (error) {
    throw new Error(`"Everything else" is not JSON: ${(error as Error).message}`);
  }
  if (rest === null || typeof rest !== "object" || Array.isArray(rest)) {
    throw new Error('"Everything else" must be a JSON object, such as {"temperature": 0.2}.');
  }
  const twice = Object.keys(rest).find((name) => OWN.has(name));
  if (twice !== undefined)
    throw new Error(`"${twice}" has a field of its own above. Take it out of the JSON.`);
  return rest as JsonObject;
}
