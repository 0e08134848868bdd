/** Words for sinks. */
import type { Sink } from "../../api/types.ts";

export const TYPE_WORDS: Record<Sink["type"], string> = {
  webhook: "webhook",
  syslog: "syslog over TLS",
  otlp: "OpenTelemetry collector",
  splunk_hec: "Splunk HEC",
  file: "file on the server",
};

/** Returns where a receiver is, for people: the rest of an address may hold a secret. */
export const placeWords = ({ type, url }: Pick<Sink, "type" | "url">): string =>
  type === "file" ? url : (URL.parse(url)?.host ?? url);

/** Returns which events a sink gets. */
export function filterWords({ operations, results, agents, sessions }: Sink["filter"]): string {
  const parts = [
    operations && `${operations.join(", ")}`,
    results && `results ${results.join(", ")}`,
    agents && `agents ${agents.join(", ")}`,
    sessions && `sessions ${sessions.join(", ")}`,
  ].filter((part) => part !== undefined);
  return parts.length === 0 ? "all events" : parts.join("; ");
}

/** Returns the items of a list that a person typed. */
export const itemsOf = (text: string): string[] => text.split(/[\s,]+/).filter((item) => item !== "");
