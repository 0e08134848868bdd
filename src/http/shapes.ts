/** Shapes of answers that several features share. They document; nothing is validated by them. */
import { type TSchema, Type as t } from "@sinclair/typebox";

const components = new Map<string, TSchema>();

/** A schema under its own name in the documentation; returns the reference to it. */
export function component(name: string, schema: TSchema) {
  if (components.has(name)) throw new Error(`two API components are called ${name}`);
  components.set(name, schema);
  return t.Unsafe({ $ref: `#/components/schemas/${name}` });
}

/** Every named schema, for the documentation. */
export function componentSchemas(): Record<string, TSchema> {
  return Object.fromEntries(components);
}

export const closed = { additionalProperties: false } as const;

/** Null, or what the schema says. */
export function nullable(schema: TSchema) {
  return t.Unsafe({ anyOf: [schema, { type: "null" }] });
}

export const AuditId = t.String({
  pattern: "^aud_[0-9a-z]{26}$",
  description: "The audit event that recorded this operation.",
  examples: ["aud_01jz8v6s3yf0abm5q2x9k7n4tc"],
});

/** A time in an answer: UTC, three decimals. */
export const Time = t.String({
  format: "date-time",
  pattern: "^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$",
  examples: ["2026-01-31T08:00:00.000Z"],
});

/** A number of things. */
export const Count = t.Integer({ minimum: 0 });

/** One page of a list. */
export function listOf(item: TSchema) {
  return t.Object(
    {
      data: t.Array(item),
      has_more: t.Boolean({ description: "Whether there are more items after this page." }),
      next_cursor: t.Unsafe({
        type: ["string", "null"],
        description: "Send it as `cursor` for the next page; null on the last one.",
      }),
    },
    closed,
  );
}

export const Deleted = component(
  "Deleted",
  t.Object({ deleted: Count, audit_id: AuditId }, { ...closed, description: "How many things are gone." }),
);
