/** The shapes of configs, in the words of the API. */
import { Type as t } from "@sinclair/typebox";
import { AgentId, PAGE_PARAMETERS } from "../../http/fields.ts";
import { anyObject, closed, component, listOf, nullable, Time } from "../../http/shapes.ts";

/** Longest retention, in days: a hundred years. */
export const MAX_RETENTION_DAYS = 36_500;

/** Every policy and its value's form. A config's `policies` may have no other member. */
export const POLICIES = {
  block_pii: t.Boolean({ description: "Block writes that hold personal data: true or false." }),
  block_secrets: t.Boolean({ description: "Block writes that hold secrets: true or false." }),
  retention_days: t.Integer({
    minimum: 1,
    maximum: MAX_RETENTION_DAYS,
    description: `Days after its last write that an entry is gone: an integer from 1 to ${MAX_RETENTION_DAYS}.`,
  }),
};

export const Policies = t.Object(
  {
    block_pii: t.Optional(POLICIES.block_pii),
    block_secrets: t.Optional(POLICIES.block_secrets),
    retention_days: t.Optional(POLICIES.retention_days),
  },
  {
    ...closed,
    description: "The enforced section: an object of block_pii, block_secrets and retention_days.",
  },
);

export const ConfigBody = t.Object(
  {
    instructions: t.Optional(t.String({ description: "Free text for the agent: a string. Not enforced." })),
    model: t.Optional(t.String({ description: "The model's name: a string. Not enforced." })),
    policies: t.Optional(Policies),
  },
  {
    additionalProperties: true,
    description: "The whole config, at most 256 KiB as canonical JSON. Further members are stored as given.",
  },
);

export const RollbackBody = t.Object(
  { version: t.String({ description: "The version to go back to: a string such as v1.", examples: ["v1"] }) },
  closed,
);

export const VersionsQuery = t.Object({ ...PAGE_PARAMETERS }, closed);

const VersionId = t.String({ pattern: "^v[1-9][0-9]*$", examples: ["v3"] });
const Actor = t.String({ description: "Who made it.", examples: ["key_01jz8v6s3yf0abm5q2x9k7n4tc"] });

export const ConfigVersion = component(
  "ConfigVersion",
  t.Object(
    {
      agent_id: AgentId,
      version: VersionId,
      config: anyObject({ description: "As it was sent, value for value." }),
      created_at: Time,
      created_by: Actor,
      rolled_back_from: nullable(VersionId),
    },
    closed,
  ),
);

export const ConfigVersionList = component(
  "ConfigVersionList",
  listOf(
    t.Object(
      {
        agent_id: AgentId,
        version: VersionId,
        policies: Policies,
        created_at: Time,
        created_by: Actor,
        rolled_back_from: nullable(VersionId),
      },
      closed,
    ),
  ),
);
