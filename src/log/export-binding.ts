/**
 * What the event of an export (`audit.export`, result `ok`) states about the export, so that a seal over the event
 * binds the content of the export (docs/audit-format.md). The root of the tree before the event binds all events of all
 * agents, so the event need not list the last event of each agent, of which there may be very many.
 */
import { type Static, Type } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import type { JsonObject } from "../json.ts";
import type { EventName } from "../operations.ts";
import { Count, Hash, only, orNull } from "../schemas.ts";
import { type AuditEventBody, EventFormatError, parseEvent, VOCABULARY } from "./event.ts";
import { foldSubtrees } from "./merkle.ts";
import { type ExportedEvent, genuineDetails } from "./present.ts";

/** The operation that records an export. */
export const EXPORT = "audit.export" satisfies EventName;

const Edge = orNull(only({ seq: Count, agent_seq: Count, hash: Hash }));
const BoundSchema = only({
  scope: Type.Optional(Type.Literal("workspace")),
  format: Type.String(),
  start_time: Type.Optional(Type.String()),
  end_time: Type.Optional(Type.String()),
  event_count: Count,
  first: Edge,
  last: Edge,
  tree_root: Hash,
  restores: Count,
  vocabulary: Count,
  pruned_before: Type.Optional(Count),
  client: Type.Optional(Type.String()),
  trace: Type.Optional(Type.String()),
  session: Type.Optional(Type.String()),
  on_behalf_of: Type.Optional(Type.Array(only({ iss: orNull(Type.String()), sub: Type.String() }))),
  workload: Type.Optional(only({ issuer: Type.String(), subject: Type.String() })),
  authorised_by: Type.Optional(
    only({
      session_id: Type.String(),
      second_factor: Type.Union([Type.String(), Type.Null()]),
      second_factor_at: Type.Union([Type.String(), Type.Null()]),
    }),
  ),
  policies_version: Type.Optional(Type.String()),
});
const bound = TypeCompiler.Compile(BoundSchema);

/** What the event of an export states. */
export type BoundExport = Static<typeof BoundSchema>;

/** The event of an export, read and checked by itself. */
export interface ExportBinding {
  event: AuditEventBody;
  hash: string;
  said: BoundExport;
}

/**
 * Reads the event of an export. Its hash and its details are checked, its place in the log is not.
 * @throws EventFormatError when it is not the event of an export, or was changed
 */
export function readBinding(stored: ExportedEvent): ExportBinding {
  const event = parseEvent(stored.canonical);
  const details = genuineDetails(stored, event);
  const said: unknown = details === null ? null : knownMembers(details);
  const isExport = event.operation === EXPORT && event.result === "ok" && bound.Check(said);
  if (!isExport || (event.agent_id === null) !== (said.scope === "workspace")) {
    throw new EventFormatError("it is not the event of an export");
  }
  return { event, hash: stored.hash, said };
}

/** Under a greater vocabulary than this program knows, the event may state more. */
function knownMembers(details: JsonObject): JsonObject {
  if (typeof details.vocabulary !== "number" || details.vocabulary <= VOCABULARY) return details;
  const known = Object.entries(details).filter(([name]) => Object.hasOwn(BoundSchema.properties, name));
  return Object.fromEntries(known);
}

/** Returns the root of the tree before its last leaf, from the inclusion proof of that leaf. */
export const rootBefore = (path: readonly Uint8Array[]): Uint8Array => foldSubtrees(path.toReversed());
