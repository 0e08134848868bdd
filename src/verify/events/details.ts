/** Checks what is stored beside an event: its details, its hash and its number. */

import { isPlainlyCanonicalObject } from "../../log/canonical-scan.ts";
import { type AuditEventBody, genesisProblem } from "../../log/event.ts";
import { detailsCommitment, isSalt } from "../../log/hash.ts";
import { CanonicalJsonError, parseCanonicalJson } from "../../log/jcs.ts";
import { hexOf, type StoredEvent } from "../../log/rows.ts";
import type { Finding } from "../problems.ts";

/** Whether details and salt are both gone. */
export function isErased({ details, salt }: StoredEvent): boolean {
  return details === null && salt === null;
}

/** What is wrong with details that were not erased; null when they are what was committed to. */
export function detailsProblem({ details, salt }: StoredEvent, event: AuditEventBody): Finding | null {
  if (details === null && salt === null) {
    return { code: "details_missing", message: "the details are gone, and nothing can erase those of such an event" };
  }
  if (details === null || salt === null) {
    return { code: "details_mismatch", message: "details and salt are not both there or both erased" };
  }
  if (!isSalt(salt) || detailsCommitment(salt, details) !== event.details_commitment) {
    return { code: "details_mismatch", message: "details and salt do not fit their commitment" };
  }
  if (isPlainlyCanonicalObject(details) || isCanonicalObject(details)) return null;
  return { code: "details_malformed", message: "details are not a JSON object in canonical form" };
}

/** What is wrong with an event by itself, beside its place in the log. */
export function* rowProblems(stored: StoredEvent, event: AuditEventBody, hash: string): Generator<Finding> {
  if (stored.hash !== undefined && stored.hash !== null && hexOf(stored.hash) !== hash) {
    yield { code: "hash_mismatch", message: "the event's bytes do not have the hash stored beside them" };
  }
  if (stored.seq !== undefined && stored.seq !== event.seq) {
    yield { code: "row_mismatch", message: "the row's number is not the event's seq" };
  }
  const message = genesisProblem(event);
  if (message !== null) yield { code: "genesis_invalid", message };
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
