/** The API's schemas of proofs. */
import { Type as t } from "@sinclair/typebox";
import { AgentId, flag, Key, NonEmptyPrefix, Timestamp } from "../../../api/fields.ts";
import {
  anyObject,
  component,
  countOf,
  Hash,
  nullable,
  object,
  oneOf,
  shape,
  usuallyNull,
  WorkspaceId,
} from "../../../api/shapes.ts";
import { PROOF_FORMAT } from "../../../log/state/format.ts";

export const ProofRequest = object({
  agent_id: AgentId,
  at: {
    ...Timestamp,
    description: "The time that the proof is about: an RFC 3339 time that has passed, such as 2026-01-31T08:00:00Z.",
    examples: ["2026-01-31T08:00:00Z"],
  },
  key: t.Optional(Key),
  prefix: t.Optional(NonEmptyPrefix),
  complete: t.Optional(t.Literal(true, { description: "All entries of the agent." })),
  with_values: flag("Whether the proof has the values, the metadata and the salts of the entries"),
});

const LEAF = {
  agent_id: AgentId,
  key: t.String({ description: "The key.", examples: ["customers/42/summary"] }),
  value_digest: Hash,
  version: countOf("The position of the event that wrote the entry."),
};
const AnnouncedKey = component("AnnouncedKey", anyObject());
const Neighbour = shape("ProofNeighbour", LEAF);

const ProofEntry = shape("ProofEntry", {
  ...LEAF,
  salt: t.Optional(t.String({ description: "Of the digest: hex, 16 bytes. With values only, like the next two." })),
  value: t.Optional(t.String()),
  metadata: t.Optional(anyObject()),
});

export const Proof = shape("Proof", {
  format: t.Literal(PROOF_FORMAT),
  vocabulary: t.Integer({ minimum: 1 }),
  workspace_id: WorkspaceId,
  claim: oneOf(["held", "absent", "complete"]),
  agent_id: AgentId,
  key: nullable(t.String({ description: "The key that was asked for." })),
  prefix: nullable(t.String({ description: "The prefix that was asked for." })),
  root: anyObject({ description: "The event of the state root." }),
  root_path: t.Array(Hash, { description: "The inclusion proof of the event in the seal." }),
  seal: t.String({ description: "The seal, with the lines of witnesses and time stamps." }),
  keys: usuallyNull(
    t.Array(AnnouncedKey, { description: "The keys that lead to that of the seal, after a rotation." }),
  ),
  first: countOf("The number of the first of the leaves that follow, in the tree of the state."),
  before: nullable(Neighbour),
  entries: t.Array(ProofEntry, { description: "The entries that the proof is about." }),
  after: nullable(Neighbour),
  left: t.Array(Hash, { description: "The tree of the state before these leaves." }),
  right: t.Array(Hash, { description: "The tree of the state behind them." }),
  digest: { ...Hash, description: "Of the other members, so that every change of the file is noticed." },
});
