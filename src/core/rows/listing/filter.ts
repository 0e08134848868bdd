/** Filters entries by their metadata. Values are compared only with values of the same JSON type. */
import { isJsonObject, type JsonObject, type JsonValue } from "../../../json.ts";
import { canonicalJson } from "../../../log/jcs.ts";
import type { Condition, Filter, FilterOperator } from "../../../operation-facts.ts";
import { compareTexts } from "./order.ts";

/** A compiled filter. */
export interface EntryFilter {
  matches(metadata: JsonObject): boolean;
  /** Texts that the stored metadata of every match contains; an empty text excludes nothing. */
  needles: readonly [string, string];
}

type Member = JsonValue | undefined;
type Test = (member: Member) => boolean;

export function entryFilter(filter: Filter): EntryFilter {
  const tests = filter.map(({ path, operator, operand }) => ({ path, holds: TESTS[operator](operand) }));
  const [first = "", second = ""] = filter.flatMap(needleOf);
  return {
    matches: (metadata) => tests.every(({ path, holds }) => holds(memberAt(metadata, path))),
    needles: [first, second],
  };
}

/**
 * Returns the text of a member with a known scalar value: metadata is stored as canonical JSON, so there is only one.
 */
function needleOf({ path, operator, operand }: Condition): string[] {
  if (operator !== "$eq" || isNested(operand)) return [];
  return [`${JSON.stringify(path.at(-1))}:${canonicalJson(operand)}`];
}

const isNested = (value: Member): boolean => typeof value === "object" && value !== null;

/** Returns the member at a path of nested objects; undefined when it is absent. Arrays have no members. */
function memberAt(metadata: JsonObject, path: readonly string[]): Member {
  let value: JsonValue = metadata;
  for (const name of path) {
    if (!isJsonObject(value) || !Object.hasOwn(value, name)) return undefined;
    value = value[name] as JsonValue;
  }
  return value;
}

const TESTS: Record<FilterOperator, (operand: JsonValue) => Test> = {
  $eq: (operand) => isOneOf([operand]),
  $ne: (operand) => {
    const isEqual = isOneOf([operand]);
    return (member) => !isEqual(member);
  },
  $in: (operand) => isOneOf(operand as JsonValue[]),
  $exists: (operand) => (member) => (member !== undefined) === operand,
  $gt: (operand) => compared(operand, (sign) => sign > 0),
  $gte: (operand) => compared(operand, (sign) => sign >= 0),
  $lt: (operand) => compared(operand, (sign) => sign < 0),
  $lte: (operand) => compared(operand, (sign) => sign <= 0),
};

/** Returns a test for equality. Arrays are equal item by item, objects regardless of the order of their members. */
function isOneOf(operands: readonly JsonValue[]): Test {
  const scalars = new Set<Member>(operands.filter((operand) => !isNested(operand)));
  const nested = new Set(operands.filter(isNested).map(canonicalJson));
  return (member) => {
    if (member === undefined) return false;
    return isNested(member) ? nested.size > 0 && nested.has(canonicalJson(member)) : scalars.has(member);
  };
}

/** Returns a test by order. Numbers are compared as doubles, strings by their UTF-8 bytes. */
function compared(operand: JsonValue, holds: (sign: number) => boolean): Test {
  if (typeof operand === "number") return (member) => typeof member === "number" && holds(member - operand);
  return (member) => typeof member === "string" && holds(compareTexts(member, operand as string));
}
