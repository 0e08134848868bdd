/** Brings schemas into the form that generators of clients understand. */
import type { TSchema } from "@sinclair/typebox";
import { componentOf } from "../../../../api/shapes.ts";

/** Returns a schema in that form. Nested schemas are not changed. */
export const inWords = (schema: object): object => withDefaultInWords(orNull(withWords(schema)));

/**
 * Returns a schema whose description states the default. Some generators of types take a member with a `default` for one
 * that is always there, so that nobody could leave it out of a request.
 */
export function withDefaultInWords<S extends object>(schema: S): S {
  const { default: usual, ...rest } = schema as { default?: unknown; description?: string };
  return usual === undefined ? schema : ({ ...rest, description: `${rest.description} If absent: ${usual}.` } as S);
}

/** Returns a union of words as an `enum`, which generators support better; any other schema unchanged. */
function withWords(schema: object): object {
  const { anyOf, ...rest } = schema as { anyOf?: { const?: unknown }[] };
  if (anyOf === undefined || !anyOf.every((each) => typeof each.const === "string")) return schema;
  return { type: "string", enum: [...new Set(anyOf.map((each) => each.const))], ...rest };
}

/** Returns a schema for a plain type or null as one schema with two types, so that its description stands beside it. */
function orNull(schema: object): object {
  const { anyOf, ...outer } = schema as { anyOf?: TSchema[] };
  const [one, other] = anyOf ?? [];
  if (anyOf?.length !== 2 || one === undefined || other?.type !== "null") return schema;
  if (componentOf(one) !== undefined || !PLAIN_TYPES.includes(one.type) || one.enum !== undefined) return schema;
  return { ...one, type: [one.type, "null"], ...outer };
}

const PLAIN_TYPES: readonly unknown[] = ["string", "integer", "number", "boolean"];
