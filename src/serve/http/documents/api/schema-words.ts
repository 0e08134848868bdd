/** Shortens schemas for the API's documents, so that each fact is stated once. */
import type { TSchema } from "@sinclair/typebox";
import { componentOf } from "../../../../api/shapes.ts";
import type { JsonObject } from "../../../../json.ts";

/** Returns a schema in its shortest form. Nested schemas are not changed. */
export const shortened = (schema: object): object =>
  withDefaultInWords(exemplified(describedOnce(orNull(withWords(schema)))));

/**
 * Returns a schema whose description states the default. Some generators of types take a member with a `default` for one
 * that is always there, so that nobody could leave it out of a request.
 */
export function withDefaultInWords<S extends object>(schema: S): S {
  const { default: usual, ...rest } = schema as JsonObject;
  return usual === undefined ? schema : ({ ...rest, description: `${rest.description} If absent: ${usual}.` } as S);
}

/**
 * Returns a schema with an example only if none can be derived from its other members: for a text, for an object with
 * any members, and for an object as a whole. Readers derive examples of answers from their members.
 */
function exemplified(schema: object): object {
  const { examples, ...rest } = schema as JsonObject;
  const { type, enum: words, const: word, default: usual } = rest;
  if (!Array.isArray(examples)) return schema;
  const isText = type === "string" && (words ?? word ?? usual) === undefined;
  return isText || type === "object" ? schema : rest;
}

/** Returns a union of words as an `enum`, which generators support better; any other schema unchanged. */
function withWords(schema: object): object {
  const { anyOf, ...rest } = schema as { anyOf?: { const?: unknown }[] };
  if (anyOf === undefined || !anyOf.every((each) => typeof each.const === "string")) return schema;
  return { type: "string", enum: [...new Set(anyOf.map((each) => each.const))], ...rest };
}

/** Returns a schema for a plain type or null in its shortest form. */
function orNull(schema: object): object {
  const { anyOf, ...outer } = schema as { anyOf?: TSchema[] };
  const [one, other] = anyOf ?? [];
  if (anyOf?.length !== 2 || one === undefined || other?.type !== "null") return schema;
  if (componentOf(one) !== undefined || !PLAIN_TYPES.includes(one.type) || one.enum !== undefined) return schema;
  return { ...one, type: [one.type, "null"], ...outer };
}

const PLAIN_TYPES: readonly unknown[] = ["string", "integer", "number", "boolean"];

/**
 * Returns a schema whose description does not repeat its other members (its words, range, length or members), which the
 * sentence of a problem must repeat.
 */
export function describedOnce<S extends object>(schema: S): S {
  const {
    type,
    enum: words,
    minimum,
    maximum,
    minItems,
    maxItems,
    minLength,
    maxLength,
    description,
  } = schema as JsonObject;
  if (typeof description !== "string") return schema;
  const told = [
    Array.isArray(words) && `: ${words.join(", ")}.`,
    type === "boolean" && ": true or false.",
    `: an integer from ${minimum} to ${maximum}.`,
    `: at most ${maxItems}.`,
    `: ${minItems} to ${maxItems} strings.`,
    `: ${minLength} to ${maxLength} characters.`,
    type === "object" && / *: an object of [a-z_, ]+\.$/.exec(description)?.[0],
  ].find((end) => typeof end === "string" && description.endsWith(end));
  return told ? { ...schema, description: `${description.slice(0, -told.length)}.` } : schema;
}

/** Removes a member with any value, or with `value`, from a schema and all nested schemas. */
export function without(schema: unknown, member: string, value?: unknown): void {
  if (typeof schema !== "object" || schema === null) return;
  const members = schema as Record<string, unknown>;
  if (value === undefined || members[member] === value) delete members[member];
  for (const each of Object.values(members)) without(each, member, value);
}
