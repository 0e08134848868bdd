/** Parses filters on metadata in requests. */
import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import type { Condition, Filter, FilterOperator } from "../operation-facts.ts";
import { invalid, type Problem } from "../problem.ts";
import { shortName } from "./query.ts";

/** The most conditions of one filter, the longest name, and the most values of `$in`. */
const MAX_CONDITIONS = 16;
const MAX_NAME_LENGTH = 512;
const MAX_VALUES = 1000;

const ORDERED = "a string or a number";
const isOrdered = (operand: JsonValue) => typeof operand === "string" || typeof operand === "number";

/** The operand of each operator. */
const OPERANDS: Record<FilterOperator, { words: string; isValid(operand: JsonValue): boolean }> = {
  $eq: { words: "any value", isValid: () => true },
  $ne: { words: "any value", isValid: () => true },
  $gt: { words: ORDERED, isValid: isOrdered },
  $gte: { words: ORDERED, isValid: isOrdered },
  $lt: { words: ORDERED, isValid: isOrdered },
  $lte: { words: ORDERED, isValid: isOrdered },
  $in: {
    words: `an array of at most ${MAX_VALUES} values`,
    isValid: (operand) => Array.isArray(operand) && operand.length <= MAX_VALUES,
  },
  $exists: { words: "true or false", isValid: (operand) => typeof operand === "boolean" },
};
const OPERATORS = Object.keys(OPERANDS).join(", ");

const isOperator = (name: string): name is FilterOperator => Object.hasOwn(OPERANDS, name);

/**
 * Returns the conditions of a filter.
 * @throws {Problem} `invalid_request` that names the member by its path: `filter.confidence.$gte`
 */
export function parseFilter(filter: JsonObject): Filter {
  const conditions = Object.entries(filter).flatMap(([name, value]) => conditionsOf(name, value));
  if (conditions.length > MAX_CONDITIONS) {
    throw invalid(`The filter has ${conditions.length} conditions. Send at most ${MAX_CONDITIONS}.`, "filter");
  }
  return conditions;
}

function conditionsOf(name: string, value: JsonValue): Condition[] {
  const path = pathOf(name);
  if (!isJsonObject(value)) return [{ path, operator: "$eq", operand: value }];
  const names = Object.keys(value);
  const operators = names.filter((one) => one.startsWith("$"));
  if (operators.length === 0) return [{ path, operator: "$eq", operand: value }];
  if (operators.length < names.length) {
    throw refused(
      [name],
      'It mixes operators with other names. Send either operators, or a value to be equal to; for a value whose names begin with "$", send {"$eq": …}.',
    );
  }
  return Object.entries(value).map(([operator, operand]) => conditionOf(name, path, operator, operand));
}

function conditionOf(name: string, path: readonly string[], operator: string, operand: JsonValue): Condition {
  if (!isOperator(operator)) {
    throw refused([name, operator], `There is no such operator. Send one of ${OPERATORS}.`);
  }
  const { words, isValid } = OPERANDS[operator];
  if (!isValid(operand)) throw refused([name, operator], `The operator takes ${words}.`);
  return { path, operator, operand };
}

/** Splits a name at its dots; `\.` is a dot in a name. */
function pathOf(name: string): string[] {
  if (name.startsWith("$")) {
    throw refused(
      [name],
      `A filter has names of members, and operators below them: {"name": {"$gte": 1}}. All conditions must hold; there are no others than ${OPERATORS}.`,
    );
  }
  if (name.length > MAX_NAME_LENGTH) {
    throw refused([name], `The name is too long. Send at most ${MAX_NAME_LENGTH} characters.`);
  }
  return name.split(/(?<!\\)\./).map((part) => part.replaceAll("\\.", "."));
}

function refused(names: readonly string[], detail: string): Problem {
  return invalid(`The filter is not valid. ${detail}`, ["filter", ...names.map(shortName)].join("."));
}
