/** What is wrong with the policies of a config that was sent, said so that a typing error is found. */
import { Value } from "@sinclair/typebox/value";
import { quoteName, shortName } from "../../http/pipeline/query.ts";
import { expectation } from "../../http/pipeline/validate.ts";
import { invalid, Problem } from "../../http/problem.ts";
import type { JsonObject } from "../../json.ts";
import { POLICY_SCHEMAS } from "./schema.ts";

/**
 * The problem with `policies`, when it is an object with one: a member that is no policy (400
 * `unknown_policy`, or a typing error would switch enforcement off in silence), or a wrong value.
 */
export function explainConfig(config: JsonObject): Problem | null {
  const { policies } = config;
  if (policies === null || typeof policies !== "object" || Array.isArray(policies)) return null;
  for (const [name, value] of Object.entries(policies)) {
    const schema = Object.hasOwn(POLICY_SCHEMAS, name) ? POLICY_SCHEMAS[name] : undefined;
    if (schema === undefined) {
      const known = Object.keys(POLICY_SCHEMAS).join(", ");
      return new Problem(
        "unknown_policy",
        `There is no policy ${quoteName(name)}. The policies are: ${known}.`,
        {
          param: `policies.${shortName(name)}`,
        },
      );
    }
    if (!Value.Check(schema, value)) {
      return invalid(`The policy "${name}" is not valid. ${expectation(schema)}`, `policies.${name}`);
    }
  }
  return null;
}
