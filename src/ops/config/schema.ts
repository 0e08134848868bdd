/** The API's schemas of configs. */
import { type TSchema, Type as t } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { AgentId } from "../../api/fields.ts";
import { AsOfShown } from "../../api/moment.ts";
import { quoteName, shortName } from "../../api/query.ts";
import {
  Actor,
  component,
  listOf,
  nullable,
  object,
  oneOf,
  PoliciesVersionId,
  shape,
  Time,
  usuallyNull,
  VersionId,
} from "../../api/shapes.ts";
import { expectation, Validator } from "../../api/validate.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json.ts";
import { invalid, Problem } from "../../problem.ts";
import { allPolicies, type PolicyMembers, type PolicyName } from "../../screen/policies.ts";
import type { SettingForm } from "../../screen/policy.ts";
import { formProblem, OBJECT_SETTINGS, requireMeaning } from "./settings-schema.ts";

/** Every policy's schema. A config's `policies` may have no other member. */
const POLICY_SCHEMAS: Record<string, TSchema> = Object.fromEntries(
  allPolicies().map(([name, { form, description, example }]) => [
    name,
    t.Optional(t.Unsafe({ ...formSchema(name, form), description, examples: [example] })),
  ]),
);

/** An example that is shorter than one of every policy. */
const FEW_POLICIES = Object.fromEntries(
  allPolicies()
    .slice(0, 1)
    .map(([name, { example }]) => [name, example]),
);

function formSchema(name: PolicyName, form: SettingForm): TSchema {
  if (form.type === "boolean") return t.Boolean();
  if (form.type === "integer") return t.Integer({ minimum: form.minimum, maximum: form.maximum });
  const schema = OBJECT_SETTINGS[name];
  if (schema === undefined) throw new Error(`the policy ${name} has no schema in settings-schema.ts`);
  return schema;
}

export const Policies = t.Unsafe<PolicyMembers>({
  ...shape("Policies", POLICY_SCHEMAS, "The enforced section: an object of policies."),
  examples: [FEW_POLICIES],
});

export const ConfigBody = component(
  "Config",
  t.Object(
    {
      instructions: t.Optional(
        t.String({
          description: "Free text for the agent: a string. Not enforced.",
          examples: ["Answer customers politely."],
        }),
      ),
      model: t.Optional(
        t.String({ description: "The model's name: a string. Not enforced.", examples: ["any-model-1"] }),
      ),
      policies: t.Optional(Policies),
    },
    {
      additionalProperties: true,
      description: "The whole config, at most 256 KiB as canonical JSON. Other members are stored as sent.",
    },
  ),
);

/** A config in an answer, as it was sent. */
export const StoredConfig = t.Unsafe<JsonObject>({
  ...ConfigBody,
  examples: [{ instructions: "Answer customers politely.", policies: FEW_POLICIES }],
});

const made = { created_at: Time, created_by: Actor, rolled_back_from: usuallyNull(VersionId) };

export const ConfigVersion = shape("ConfigVersion", {
  agent_id: AgentId,
  version: VersionId,
  config: StoredConfig,
  ...made,
  as_of: t.Optional(AsOfShown),
});

export const ConfigVersionList = component(
  "ConfigVersionList",
  listOf(shape("ConfigVersionItem", { agent_id: AgentId, version: VersionId, policies: Policies, ...made })),
);

export const EffectivePolicies = shape("EffectivePolicies", {
  agent_id: AgentId,
  config_version: nullable(VersionId),
  policies_version: nullable(PoliciesVersionId),
  policies: Policies,
  from: t.Record(t.String(), oneOf(["floor", "config", "default"]), {
    description:
      "What demands each member, by its path, such as `screening.pii.mode` or `screening.patterns[0]`: `floor` for the workspace's policies, `default` for what nobody sets.",
    examples: [Object.fromEntries(Object.keys(FEW_POLICIES).map((name) => [name, "floor"]))],
  }),
  as_of: t.Optional(AsOfShown),
});

/**
 * Returns the problem with `policies`; null when its members are valid, or it is not an object. An unknown member is
 * 400 `unknown_policy`, since a typing error would otherwise silently switch enforcement off.
 */
export function explainPolicies(body: JsonObject): Problem | null {
  const { policies } = body;
  if (!isJsonObject(policies)) return null;
  for (const [name, value] of Object.entries(policies)) {
    const schema = Object.hasOwn(POLICY_SCHEMAS, name) ? POLICY_SCHEMAS[name] : undefined;
    if (schema === undefined) {
      const known = Object.keys(POLICY_SCHEMAS).join(", ");
      return new Problem("unknown_policy", `There is no policy ${quoteName(name)}. The policies are: ${known}.`, {
        param: `policies.${shortName(name)}`,
      });
    }
    if (Value.Check(schema, value)) continue;
    const problem = isJsonObject(value) ? formProblem(name, schema, value) : null;
    return problem ?? invalid(`The policy "${name}" is not valid. ${expectation(schema)}`, `policies.${name}`);
  }
  return null;
}

let policiesDocument: Validator<typeof PoliciesDocument> | null = null;
const PoliciesDocument = object({ policies: Policies });

/** Checks policies that do not come from a request, for example from a file. @throws {Problem} as for a request */
export function checkedPolicies(policies: JsonValue): JsonObject {
  policiesDocument ??= new Validator(PoliciesDocument, "member");
  const { policies: right } = policiesDocument.parse({ policies }, explainPolicies);
  requireMeaning(right as JsonObject);
  return right as JsonObject;
}
