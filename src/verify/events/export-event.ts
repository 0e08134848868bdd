/** One event of an export, given as text, for the verifier. */
import type { JsonObject } from "../../json.ts";
import { EventFormatError } from "../../log/event.ts";
import { hasRepeatedMember } from "../../log/json-scan.ts";
import { type ExportedEvent, renderEvent, storedFromPresented } from "../../log/present.ts";
import type { LogVerifier } from "./log-verifier.ts";

/**
 * Feeds an event to the verifier.
 *
 * @param value what JSON.parse made of `text`, without `type`
 * @param line whether it came as a line of ndjson, with its `type`
 */
export function addShownText(verifier: LogVerifier, text: string, value: JsonObject, line: boolean): void {
  let stored: ExportedEvent;
  try {
    stored = storedFromPresented(value);
  } catch (error) {
    if (!(error instanceof EventFormatError)) throw error;
    verifier.addMalformed(error.message, typeof value.seq === "number" ? value.seq : undefined);
    return;
  }
  // Text as this format's own writer writes it has no member twice; other text is looked through.
  const own = renderEvent(stored, stored.hash);
  const same = line ? text === `{"type":"event",${own.slice(1)}` : text === own;
  if (!same && hasRepeatedMember(text, line ? { type: "event", ...value } : value)) {
    verifier.addMalformed("a member is there twice", value.seq as number);
    return;
  }
  verifier.add([stored]);
}
