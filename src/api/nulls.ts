/** `null` in place of an optional member of a body. */
import type { TSchema } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { isJsonObject, type JsonValue } from "../json.ts";

/** Reports whether a value has the constants that a schema fixes. This tells most variants apart, and quickly. */
function mayBe({ properties }: TSchema, value: JsonValue): boolean {
  if (properties === undefined || !isJsonObject(value)) return true;
  return Object.entries(properties as Record<string, TSchema>).every(
    ([name, form]) => form.const === undefined || form.const === value[name],
  );
}

/**
 * Returns a value without those null members that its schema neither accepts as null nor requires. Answers show an
 * absent member as null, and clients send it back. Free-form parts stay as they are.
 */
export function withoutNulls(schema: TSchema, value: JsonValue): JsonValue {
  const { items, properties, required = [] } = schema;
  const variants = ((schema.anyOf ?? schema.oneOf) as TSchema[] | undefined)?.filter((one) => mayBe(one, value));
  if (variants?.length === 1) return withoutNulls(variants[0] as TSchema, value);
  if (variants !== undefined) {
    const cleaned = variants.map((variant) => [variant, withoutNulls(variant, value)] as const);
    return cleaned.find(([variant, each]) => Value.Check(variant, each))?.[1] ?? value;
  }
  if (Array.isArray(value)) {
    return items === undefined ? value : value.map((each) => withoutNulls(items as TSchema, each));
  }
  if (!isJsonObject(value) || properties === undefined) return value;
  const members: [string, JsonValue][] = [];
  for (const [name, member] of Object.entries(value)) {
    const form = Object.hasOwn(properties, name) ? (properties[name] as TSchema) : null;
    const meansNothing = form !== null && member === null && !required.includes(name) && !Value.Check(form, null);
    if (!meansNothing) members.push([name, form === null ? member : withoutNulls(form, member)]);
  }
  return Object.fromEntries(members);
}
