/**
 * Shapes that several schemas share. Those of results only document the API; they validate nothing. The dashboard
 * derives its types from them (`src/web/api/types.ts`).
 */
import {
  type SchemaOptions,
  type Static,
  type TObject,
  type TProperties,
  type TSchema,
  type TUnsafe,
  Type as t,
} from "@sinclair/typebox";
import type { JsonObject } from "../json.ts";

/** The member of a schema with the name of its component. Copies of the schema keep the name. */
const NAME = Symbol("component");

const components = new Map<string, TSchema>();

/** Names a schema: wherever it is used, the API's documents refer to a component of this name. */
export function component<S extends TSchema>(name: string, schema: S): S {
  if (components.has(name)) throw new Error(`two API components are called ${name}`);
  components.set(name, schema);
  return { ...schema, [NAME]: name };
}

/** Returns the name and the original of a {@link component}, undefined for any other schema. */
export function componentOf(schema: object): { name: string; original: TSchema } | undefined {
  const name = (schema as { [NAME]?: string })[NAME];
  return name === undefined ? undefined : { name, original: components.get(name) as TSchema };
}

const closed = { additionalProperties: false } as const;

/** An object with these members and no others. */
export function object<P extends TProperties>(members: P, description?: string): TObject<P> {
  return t.Object(members, description === undefined ? closed : { ...closed, description });
}

/** An {@link object} that is a {@link component}. */
export function shape<P extends TProperties>(name: string, members: P, description?: string) {
  return component(name, object(members, description));
}

/** A schema that also accepts null. */
export function nullable<S extends TSchema>(schema: S, options: SchemaOptions = {}): TUnsafe<Static<S> | null> {
  return t.Unsafe<Static<S> | null>({ ...options, anyOf: [schema, { type: "null" }] });
}

/** {@link nullable}, and null in examples. */
export const usuallyNull = <S extends TSchema>(schema: S) => nullable(schema, { examples: [null] });

/** One of a few words. */
export function oneOf<const W extends string>(words: readonly W[]): TUnsafe<W> {
  return t.Unsafe<W>(t.Union(words.map((word) => t.Literal(word))));
}

/** A JSON object with any members. */
export function anyObject(options: SchemaOptions = {}): TUnsafe<JsonObject> {
  return t.Unsafe<JsonObject>(t.Object({}, { ...options, additionalProperties: true }));
}

export const AuditId = component(
  "AuditId",
  t.String({
    pattern: "^aud_[0-9a-z]{26}$",
    description: "The audit event that recorded this operation.",
    examples: ["aud_01jz8v6s3yf0abm5q2x9k7n4tc"],
  }),
);

/** A time in a result: UTC, three decimals. */
export const Time = component(
  "Time",
  t.String({
    format: "date-time",
    pattern: "^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$",
    examples: ["2026-01-31T08:00:00.000Z"],
  }),
);

/** A number of things. */
export const Count = t.Integer({ minimum: 0 });

/** A {@link Count} that needs a description. */
export const countOf = (description: string) => t.Integer({ minimum: 0, description });

/** A config's version. */
export const VersionId = component("VersionId", t.String({ pattern: "^v[1-9][0-9]*$", examples: ["v3"] }));

/** A version of the workspace's policies. */
export const PoliciesVersionId = component(
  "PoliciesVersionId",
  t.String({ pattern: "^p[1-9][0-9]*$", examples: ["p2"] }),
);

/** A SHA-256 hash, or another of 32 bytes. */
export const Hash = component(
  "Hash",
  t.String({
    pattern: "^[0-9a-f]{64}$",
    examples: ["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"],
  }),
);

export const WorkspaceId = t.String({ pattern: "^ws_[0-9a-z]{26}$", examples: ["ws_01h455vb4pex5vsknk084sn02q"] });

/** Who did something: a key, a person, a workload, the command line or the daemon. */
export const Actor = component(
  "Actor",
  t.String({
    description: "`key_…`, `usr_…`, `wid_…`, `cli` or `system`.",
    examples: ["key_01jz8v6s3yf0abm5q2x9k7n4tc"],
  }),
);

/** The id of an event, other than the one of the request itself. */
export const EventId = component(
  "EventId",
  t.String({ pattern: "^aud_[0-9a-z]{26}$", examples: ["aud_01jz8v5q2pf0tbq3y8r6w1m9ck"] }),
);

export const NextCursor = component(
  "NextCursor",
  t.Unsafe<string | null>({
    type: ["string", "null"],
    examples: [null],
    description: "Send it as `cursor` for the next page; null on the last one.",
  }),
);

const HasMore = component(
  "HasMore",
  t.Boolean({ description: "Whether there are more items after this page.", examples: [false] }),
);

/** One page of a list. `more`: members beside its items. */
export function listOf<S extends TSchema, P extends TProperties = Record<never, never>>(item: S, more = {} as P) {
  return object({ ...more, data: t.Array(item), has_more: HasMore, next_cursor: NextCursor });
}

/** A list that is short enough to be returned whole. */
export const listWithoutPages = <S extends TSchema>(item: S) => object({ data: t.Array(item) });

export const Deleted = shape("Deleted", { deleted: Count, audit_id: AuditId }, "How many things are gone.");
