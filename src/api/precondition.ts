/**
 * The precondition in the headers of a request that changes something (RFC 9110 section 13.1). It is never ignored: a
 * client that sends one must not change what it did not want to.
 */
import type { VersionCondition } from "../operation-facts.ts";
import { invalid } from "../problem.ts";
import { parseIfMatch } from "./entity-tag.ts";

/** Every header that states a precondition. */
export const PRECONDITION_HEADERS = [
  "If-Match",
  "If-None-Match",
  "If-Modified-Since",
  "If-Unmodified-Since",
  "If-Range",
] as const;

type PreconditionHeader = (typeof PRECONDITION_HEADERS)[number];

/** The header of a read that answers 304, as the documentation describes it. */
export const NONE_MATCH = {
  "If-None-Match": { description: "Return 304 without a body if this entity tag still holds.", example: '"v3"' },
};

/** The headers of a route that takes conditions, as the documentation describes them. */
export const CONDITION_HEADERS = {
  "If-Match": {
    description:
      "Apply only if what would change has one of these entity tags, or exists with `*`. Otherwise 412 `version_conflict`.",
    example: '"v3"',
  },
  "If-None-Match": {
    description: "Only `*`: apply only if there is nothing yet. Otherwise 412 `version_conflict`.",
    example: "*",
  },
};

/**
 * Returns the condition that the headers of a request state, undefined for none. `taken`: whether its route takes one.
 * @throws {Problem} 400 for any other precondition, with the header as `param`
 */
export function conditionOf(headers: Headers, taken: boolean): VersionCondition | undefined {
  let condition: VersionCondition | undefined;
  for (const name of PRECONDITION_HEADERS) {
    const value = headers.get(name);
    if (value === null) continue;
    if (condition !== undefined) throw invalid("Send one precondition header, not several.", name);
    condition = taken ? parse(name, value) : undefined;
    if (condition === undefined) throw invalid(`This operation does not support ${name}. Leave the header out.`, name);
  }
  return condition;
}

/** Returns undefined for a header that no route supports. @throws {Problem} when it is malformed */
function parse(name: PreconditionHeader, value: string): VersionCondition | undefined {
  if (name === "If-Match") {
    const condition = parseIfMatch(value);
    if (condition !== null) return condition;
    throw invalid("The If-Match header is malformed. Send an entity tag in quotes, a list of them, or *.", name);
  }
  if (name !== "If-None-Match") return undefined;
  if (value.trim() === "*") return { exists: false };
  throw invalid("Here If-None-Match can only be *: apply only if nothing exists yet.", name);
}
