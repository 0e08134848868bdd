/** Examples of requests and answers, made from the examples in their schemas. */
import { KindGuard, type TSchema } from "@sinclair/typebox";
import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";

/**
 * Returns an example for a schema: its own, or one made from its parts. Optional members without their own example are
 * left out.
 * @throws {TypeError} that names the member without an example
 */
export function exampleOf(schema: TSchema, where = "the schema"): JsonValue {
  const stated = statedExample(schema);
  if (stated !== undefined) return stated;
  const { anyOf, oneOf, properties, items, minItems = 1 } = schema;
  const [variant] = (anyOf ?? oneOf ?? []) as TSchema[];
  if (variant !== undefined) return exampleOf(variant, where);
  if (properties !== undefined) return exampleMembers(schema, where);
  if (items !== undefined) return Array.from({ length: minItems as number }, () => exampleOf(items as TSchema, where));
  if (schema.type === "boolean") return true;
  if (schema.type === "integer" || schema.type === "number") return Math.max(1, (schema.minimum as number) ?? 1);
  throw new TypeError(`${where} has no example`);
}

/** Returns a schema's own example: from `examples`, its only value, its default, or the first of its words. */
function statedExample(schema: TSchema): JsonValue | undefined {
  const { examples, enum: words } = schema;
  if (examples !== undefined) return (examples as JsonValue[])[0];
  return schema.const ?? schema.default ?? words?.[0];
}

/** Returns an example of an object. */
function exampleMembers({ properties, required = [] }: TSchema, where: string): JsonObject {
  const example: JsonObject = {};
  for (const [name, member] of Object.entries(properties as Record<string, TSchema>)) {
    const isOptional = KindGuard.IsOptional(member) || !(required as string[]).includes(name);
    if (isOptional && !hasOwnExample(member)) continue;
    example[name] = exampleOf(member, `${where}.${name}`);
  }
  return example;
}

function hasOwnExample(schema: TSchema): boolean {
  if (schema.examples !== undefined || schema.default !== undefined) return true;
  return isJsonObject(schema.properties as JsonValue) && Object.keys(schema.properties).length > 0;
}
