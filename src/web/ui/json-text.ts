/** JSON in fields and comparisons. */
import { badInput } from "../api/problem.ts";
import type { JsonObject } from "../api/types.ts";

/** Returns the object in the JSON text of a field. @throws {ApiProblem} when it is not an object, such as `example`. */
export function parseObject(param: string, name: string, text: string, example: string): JsonObject {
  if (text.trim() === "") return {};
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw badInput(param, `${name} is not JSON: ${(error as Error).message}`);
  }
  if (value === null || typeof value !== "object" || Array.isArray(value)) {
    throw badInput(param, `${name} must be a JSON object, such as ${example}.`);
  }
  return value as JsonObject;
}

/** Returns a value as text with sorted members, so that their order makes no difference. */
export function sortedJson(value: unknown): string {
  const sorted = (_name: string, part: unknown) =>
    part !== null && typeof part === "object" && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part;
  return JSON.stringify(value, sorted, 2);
}

/** A line of JSON whose value is a text with line breaks: the indent, the member's name, the text, the comma. */
const LONG_TEXT = /^( *)("(?:[^"\\]|\\.)*": )?("(?:[^"\\]|\\.)*\\n(?:[^"\\]|\\.)*")(,?)$/;

/** Returns a value to be read and compared: like {@link sortedJson}, with each line of its texts on a line. */
export function readableJson(value: unknown): string {
  return sortedJson(value)
    .split("\n")
    .map((line) => {
      const [, indent = "", name = "", text, comma = ""] = LONG_TEXT.exec(line) ?? [];
      if (text === undefined) return line;
      const lines = (JSON.parse(text) as string).split("\n").map((one) => `${indent}  ${one}`);
      return [`${indent}${name}"""`, ...lines, `${indent}"""${comma}`].join("\n");
    })
    .join("\n");
}
