/**
 * Shapes that several schemas share. Those of results only document the API; they validate nothing. The dashboard
 * derives its types from them (`src/web/api/types.ts`).
 */
import { type Static, type TObject, type TProperties, type TSchema, type TUnsafe, Type as t } from "@sinclair/typebox";
import type { JsonObject } from "../json.ts";

const components = new Map<string, TSchema>();

/** Names a schema in the API's documentation and returns a reference to it. */
export function component<S extends TSchema>(name: string, schema: S): TUnsafe<Static<S>> {
  if (components.has(name)) throw new Error(`two API components are called ${name}`);
  components.set(name, schema);
  return t.Unsafe<Static<S>>({ $ref: `#/components/schemas/${name}` });
}

/** Returns every named schema, for the documentation. */
export const componentSchemas = (): Record<string, TSchema> => Object.fromEntries(components);

const closed = { additionalProperties: false } as const;

/** An object with these members and no others. */
export function object<P extends TProperties>(members: P, description?: string): TObject<P> {
  return t.Object(members, description === undefined ? closed : { ...closed, description });
}

/** Names an {@link object} in the API's documentation and returns a reference to it. */
export function shape<P extends TProperties>(name: string, members: P, description?: string) {
  return component(name, object(members, description));
}

/** Null, or what the schema describes. */
export function nullable<S extends TSchema>(schema: S): TUnsafe<Static<S> | null> {
  return t.Unsafe<Static<S> | null>({ anyOf: [schema, { type: "null" }] });
}

/** One of a few words. */
export function oneOf<const W extends string>(words: readonly W[]): TUnsafe<W> {
  return t.Unsafe<W>({ enum: [...words], type: "string" });
}

/** A JSON object with any members. */
export function anyObject(options: { description?: string } = {}): TUnsafe<JsonObject> {
  return t.Unsafe<JsonObject>(t.Object({}, { ...options, additionalProperties: true }));
}

export const AuditId = t.String({
  pattern: "^aud_[0-9a-z]{26}$",
  description: "The audit event that recorded this operation.",
  examples: ["aud_01jz8v6s3yf0abm5q2x9k7n4tc"],
});

/** A time in a result: UTC, three decimals. */
export const Time = t.String({
  format: "date-time",
  pattern: "^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$",
  examples: ["2026-01-31T08:00:00.000Z"],
});

/** A number of things. */
export const Count = t.Integer({ minimum: 0 });

/** A {@link Count} that needs a description. */
export const countOf = (description: string) => t.Integer({ minimum: 0, description });

/** A config's version. */
export const VersionId = t.String({ pattern: "^v[1-9][0-9]*$", examples: ["v3"] });

/** A SHA-256 hash, or another of 32 bytes. */
export const Hash = t.String({ pattern: "^[0-9a-f]{64}$" });

/** Returns an example of an object, from the examples and the defaults of its members. A member without either is left out. */
export function exampleOf({ properties }: TObject): JsonObject {
  const examples = Object.entries(properties as Record<string, TSchema>).map(([name, schema]) => {
    const example = schema.examples?.[0] ?? schema.default;
    return [name, schema.properties === undefined ? example : exampleOf(schema as TObject)];
  });
  return Object.fromEntries(examples.filter(([, example]) => example !== undefined)) as JsonObject;
}

/** One page of a list. */
export function listOf<S extends TSchema>(item: S) {
  return object({
    data: t.Array(item),
    has_more: t.Boolean({ description: "Whether there are more items after this page." }),
    next_cursor: t.Unsafe<string | null>({
      type: ["string", "null"],
      description: "Send it as `cursor` for the next page; null on the last one.",
    }),
  });
}

/** A list that is short enough to be returned whole. */
export const listWithoutPages = <S extends TSchema>(item: S) => object({ data: t.Array(item) });

export const Deleted = shape("Deleted", { deleted: Count, audit_id: AuditId }, "How many things are gone.");
