/** The API's schemas of quarantines. */
import { type Static, Type as t } from "@sinclair/typebox";
import { AgentId, Key } from "../../api/fields.ts";
import { AuditId, Count, component, countOf, EventId, nullable, shape, Time } from "../../api/shapes.ts";
import { Reported } from "../data/finding-schema.ts";

const Version = shape("QuarantinedVersion", {
  audit_id: { ...EventId, description: "The version: the audit event that wrote it." },
  agent_id: AgentId,
  key: Key,
  seq: countOf("The position of that event in the log."),
  timestamp: { ...Time, description: "When it was written." },
  present: t.Boolean({ description: "Whether it is what the key holds now." }),
  depth: countOf("The steps from the version that the request named; 0 for that one."),
  from: nullable({ ...EventId, description: "The write from which it followed; null without `include_effects`." }),
  through: nullable({ ...EventId, description: "The event that showed the one to the writer of the other." }),
});

/** An example of the digest of a set. */
export const DIGEST = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae";

const SET = { count: Count, items: t.Array(Version, { description: "The versions, the first written first." }) };

export const QuarantinePreview = shape(
  "QuarantinePreview",
  {
    ...SET,
    digest: t.String({
      pattern: "^[0-9a-f]{64}$",
      description: "Names exactly this set. Send it as `confirm_digest` to set it aside.",
      examples: [DIGEST],
    }),
  },
  "What would be set aside.",
);

export const Quarantined = shape("Quarantined", { ...SET, audit_id: AuditId, findings: Reported }, "It is done.");

/** The answer to a request that sets versions aside, or shows which ones it would. */
export const QuarantineResult = component(
  "QuarantineResult",
  t.Unsafe<Static<typeof QuarantinePreview> | Static<typeof Quarantined>>({ oneOf: [QuarantinePreview, Quarantined] }),
);
