/**
 * The form of `governd verify --json`, as a JSON Schema (`governd verify --json-schema` prints it), and the
 * corresponding types. Members may be added within a version. Removing a member or changing its meaning takes a new
 * version.
 */
import {
  type ObjectOptions,
  type Static,
  type TProperties,
  type TSchema,
  type TUnsafe,
  Type as t,
} from "@sinclair/typebox";
import { OBSTACLES, type ObstacleCode, PROBLEMS, type ProblemCode, REPORT_SCHEMA } from "./codes.ts";

const object = <P extends TProperties>(members: P, options: ObjectOptions = {}) =>
  t.Object(members, { additionalProperties: false, ...options });
const Count = t.Integer({ minimum: 0 });
const nullable = <S extends TSchema>(schema: S) => t.Union([schema, t.Null()]);
const oneOf = <W extends string>(words: readonly W[], description?: string) =>
  t.Union(
    words.map((word) => t.Literal(word)),
    description === undefined ? {} : { description },
  ) as unknown as TUnsafe<W>;
const keysOf = <C extends string>(table: Readonly<Record<C, unknown>>) => Object.keys(table) as C[];

const CODES: readonly (ProblemCode | ObstacleCode)[] = [...keysOf(PROBLEMS), ...keysOf(OBSTACLES)];

export const ReportedProblem = object({
  code: oneOf(CODES),
  message: t.String(),
  seq: nullable(
    t.Integer({ description: "The event. It and the next five members are null when there is no single one." }),
  ),
  id: nullable(t.String()),
  agent_id: nullable(t.String({ description: "The agent of the event or row; null also for the workspace itself." })),
  agent_seq: nullable(Count),
  operation: nullable(t.String()),
  timestamp: nullable(t.String()),
  table: nullable(t.String({ description: "The table with the wrong rows." })),
  keys: t.Array(t.String(), { description: "Keys of the first of these rows, unless they were erased." }),
  count: t.Integer({ minimum: 1, description: "The number of wrong rows of the table; otherwise 1." }),
  consequences: t.Integer({ minimum: 0, description: "The number of further problems that this one explains." }),
  consequence_codes: t.Record(t.String(), Count, { description: "Their number by code." }),
});

const Agent = object({
  agent_id: nullable(t.String()),
  events: Count,
  valid: t.Boolean(),
  first_invalid: nullable(object({ seq: t.Integer(), id: nullable(t.String()), reason: t.String() })),
});

export const Restore = object({
  epoch: t.Integer({ minimum: 2, description: "Counted from 1, which is the log from its genesis on." }),
  seq: Count,
  restored_at: t.String(),
  backup_created_at: nullable(t.String()),
  backup_digest: nullable(t.String()),
  origin: nullable(
    t.String({
      description: "The origin of seals from here on; null when the event does not have the form of a restore.",
    }),
  ),
  lost_through: nullable(t.Integer({ description: "The last position that is known to be lost." })),
});

const Pruning = object({
  before_seq: Count,
  export_digest: t.String(),
  export: nullable(t.String({ description: "The given file that is the export which the pruning names." })),
});

const Witness = object({
  name: t.String(),
  key_id: t.String({ description: "Which of the keys under this name, as verifier keys show it." }),
  through: t.Integer({ description: "The last event under that seal." }),
  time: t.String({ description: "When it was cosigned." }),
});

const Timestamp = object({
  name: t.String({ description: "The authority, as its certificate names it." }),
  through: t.Integer({ description: "The last event under that seal." }),
  time: t.String({ description: "When it was stamped." }),
});

const Place = object({ agent_id: t.String(), key: t.String() });

const Proof = object({
  claim: oneOf(
    ["held", "absent", "complete"] as const,
    "An entry was under the key; none was under the key or the prefix; the entries are all under the prefix, or of the agent.",
  ),
  agent_id: t.String(),
  key: nullable(t.String()),
  prefix: nullable(t.String()),
  seq: t.Integer({ description: "The moment: the state right after this event." }),
  recorded_at: t.String({ description: "When the state root was recorded, by the clock of the daemon." }),
  entries: Count,
  with_values: t.Boolean({ description: "Whether the values of the entries were checked." }),
  before: nullable(Place),
  after: nullable(Place),
  time_rests_on: oneOf(
    ["time_stamp", "witness", "kept_seal", "clock"] as const,
    "Whose word says that the state root was there at the latest at a time: that of a given authority of time stamps or witness, a seal that was given, or only the daemon's.",
  ),
});

export const SourceReport = object({
  path: t.String(),
  kind: oneOf(["workspace", "export", "receipt", "proof", "directory", "unknown"] as const),
  workspace_id: nullable(t.String()),
  events: Count,
  agents: t.Array(Agent),
  sealed_through: nullable(t.Integer({ description: "The last event under a valid seal." })),
  anchored_through: nullable(
    t.Integer({ description: "The last event under a seal that was kept elsewhere and given." }),
  ),
  completeness: oneOf(["complete", "partial", "unknown"] as const, "Whether all events of its scope are here."),
  complete_through: nullable(t.Integer({ description: "The last event of a complete source." })),
  witnesses: t.Optional(
    t.Array(Witness, { description: "Those of the given witnesses that have cosigned a seal here." }),
  ),
  timestamps: t.Optional(
    t.Array(Timestamp, { description: "The newest of each given authority, if --timestamp-ca was given." }),
  ),
  proof: t.Optional(Proof),
  pruned_before: t.Optional(t.Integer({ description: "The first event that was not pruned." })),
  prunings: t.Optional(t.Array(Pruning)),
  state_roots: t.Optional(
    object({
      recomputed: Count,
      not_recomputed: t.Integer({
        minimum: 0,
        description: "Those whose entries the log no longer tells, or that would take too long.",
      }),
    }),
  ),
  restores: t.Optional(t.Array(Restore, { description: "Restores from a backup that the log declares." })),
  explained_seals: t.Optional(
    t.Array(object({ origin: t.String(), size: Count, seq: Count }), {
      description: "Given seals that a restore names as lost, so that they contradict nothing.",
    }),
  ),
  not_covered: t.Optional(t.Array(t.String(), { description: "What this evidence cannot verify." })),
  problems: t.Array(ReportedProblem, { description: "The first 1,000." }),
});

export const Report = object(
  {
    schema: t.Literal(REPORT_SCHEMA),
    verdict: oneOf(["verified", "tampered", "undetermined"] as const),
    exit_code: t.Union([t.Literal(0), t.Literal(1), t.Literal(2)]),
    signer_known: t.Boolean({
      description: "Whether the given public keys establish by whom the evidence was sealed; false without a key.",
    }),
    sources: t.Array(SourceReport),
  },
  { $id: `urn:${REPORT_SCHEMA.replace("/", ":")}` },
);

export type ReportedProblem = Static<typeof ReportedProblem>;
export type SourceReport = Static<typeof SourceReport>;
export type ReportedRestore = Static<typeof Restore>;
export type SourceAgent = Static<typeof Agent>;
