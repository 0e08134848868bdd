/** Events as sentences. */
import { eventFacts } from "../../operations.ts";
import type { AuditEvent, JsonObject } from "../api/types.ts";
import { counted } from "./numbers.ts";

/** Details that say what an event was about, the first one that is there. */
const SUBJECTS = ["key", "prefix", "label", "version", "name", "role", "kind"] as const;

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

/** Reports whether an event is of sign-ins that failed. Nobody proved who they are, so the actor says nothing. */
export const isFailedSignIn = ({ operation, result }: AuditEvent): boolean =>
  operation === "account.sign_in" && result === "denied";

/** Details that say how often, with the words for one and for several. */
const COUNTS: Readonly<Record<string, readonly [member: string, one: string, several: string]>> = {
  "data.expire": ["count", "entry", "entries"],
  "account.sign_in": ["attempts", "attempt", "attempts"],
  "account.end_sessions": ["sessions", "session", "sessions"],
};

/** Returns what the event was about; null when the details do not say, or are erased. */
export function subject({ operation, details }: AuditEvent): string | null {
  const [member = "", one = "", several = ""] = COUNTS[operation] ?? [];
  const times = details?.[member];
  if (typeof times === "number") return counted(times, one, several);
  for (const name of SUBJECTS) {
    const found = text(details, name);
    if (found !== null) return found;
  }
  return null;
}
