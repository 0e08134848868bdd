/** Events as sentences. */
import { eventFacts } from "../../operations.ts";
import type { AuditEvent, JsonObject } from "../api/types.ts";
import { counted } from "./numbers.ts";

/** Details that say what an event was about, the first one that is there. */
const SUBJECTS = ["key", "prefix", "label", "version", "name", "role"] as const;

const text = (details: JsonObject | null, name: string): string | null => {
  const value = details?.[name];
  return typeof value === "string" && value !== "" ? value : null;
};

/**
 * What the actor did, or tried: "wrote", "tried to write". An operation of a newer daemon than this page is
 * shown by its name.
 */
export function verb({ operation, result }: AuditEvent): string {
  const facts = eventFacts(operation);
  const isRefused = result === "blocked" || result === "denied";
  if (isRefused) return facts !== undefined && "tried" in facts ? `tried to ${facts.tried}` : `tried ${operation}`;
  return facts?.did ?? operation;
}

/** What it was about; null when the details do not say, or are erased. */
export function subject({ operation, details }: AuditEvent): string | null {
  if (operation === "data.expire" && typeof details?.count === "number") {
    return counted(details.count, "entry", "entries");
  }
  for (const name of SUBJECTS) {
    const found = text(details, name);
    if (found !== null) return found;
  }
  return null;
}
