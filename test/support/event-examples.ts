/** Details that have the forms of `operations.ts`, for tests that record events of every operation. */
import type { DetailsForm, ValueForm } from "../../src/details.ts";
import type { JsonObject, JsonValue } from "../../src/json.ts";
import type { AuditResult } from "../../src/log/event.ts";
import { type EventName, eventFacts } from "../../src/operations.ts";
import { typeId } from "../log/sample.ts";

const VALUES: Readonly<Record<string, JsonValue>> = {
  ...{ text: "x", count: 1, some: 1, flag: true, true: true, false: false, null: null, object: {} },
  ...{ hash: "ab".repeat(32), writes: [1], time: "2026-01-01T00:00:00.000Z", agent: "a", v1: "v1", p1: "p1" },
};

/** Returns a value of a form. */
export function exampleOf({ name, parts }: ValueForm): JsonValue {
  if (parts === undefined) {
    return name.endsWith("_")
      ? typeId(name.slice(0, -1), 1)
      : name.startsWith("{*")
        ? { x: 1 }
        : (VALUES[name] as JsonValue);
  }
  if ("words" in parts) return parts.words[0] as string;
  if ("items" in parts) return [exampleOf(parts.items)];
  return "either" in parts ? exampleOf(parts.either[0]) : membersOf(parts.members);
}

/** Returns an object with the members that are always there. */
const membersOf = (members: DetailsForm["members"]): JsonObject =>
  Object.fromEntries(
    Object.entries(members).flatMap(([name, member]) =>
      member.presence === undefined || member.presence === "unless_redacted" ? [[name, exampleOf(member)]] : [],
    ),
  );

/** Returns the forms of an operation with a result. */
export const formsOf = (operation: EventName, result: AuditResult = "ok"): readonly DetailsForm[] =>
  [eventFacts(operation)?.details[result] ?? []].flat();

/** Returns details of the first form of an operation with a result that `isWanted`. */
export function exampleDetails(
  operation: EventName,
  isWanted: (form: DetailsForm) => boolean = () => true,
  result: AuditResult = "ok",
): JsonObject {
  const form = formsOf(operation, result).find(isWanted);
  if (form === undefined) throw new Error(`${operation} has no such form`);
  return membersOf(form.members);
}
