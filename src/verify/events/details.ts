/** Details against the commitment in their event. */

import { isPlainlyCanonicalObject } from "../../log/canonical-scan.ts";
import type { AuditEventBody } from "../../log/event.ts";
import { commitmentOfText, isSalt } from "../../log/hash.ts";
import { CanonicalJsonError, parseCanonicalJson } from "../../log/jcs.ts";
import type { StoredEvent } from "../../log/rows.ts";
import type { ProblemCode } from "../problems.ts";

/** Whether details and salt are both erased, which is no problem. */
export function isErased({ details, salt }: StoredEvent): boolean {
  return details === null && salt === null;
}

/** What is wrong with details that are not erased; null when they are what was committed to. */
export function detailsProblem(
  { details, salt }: StoredEvent,
  event: AuditEventBody,
): { code: ProblemCode; message: string } | null {
  if (details === null || salt === null) {
    return { code: "details_mismatch", message: "details and salt are not both there or both erased" };
  }
  if (!isSalt(salt) || commitmentOfText(salt, details) !== event.details_commitment) {
    return { code: "details_mismatch", message: "details and salt do not fit their commitment" };
  }
  if (isPlainlyCanonicalObject(details) || isCanonicalObject(details)) return null;
  return { code: "details_malformed", message: "details are not a JSON object in canonical form" };
}

function isCanonicalObject(text: string): boolean {
  try {
    const value = parseCanonicalJson(text);
    return value !== null && typeof value === "object" && !Array.isArray(value);
  } catch (error) {
    if (error instanceof CanonicalJsonError) return false;
    throw error;
  }
}
