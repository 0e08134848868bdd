/** The bodies in which lines are delivered: items between a beginning and an end. */
import type { SinkConfig } from "./config.ts";
import type { BodyForm, Line } from "./lines.ts";
import { logForm } from "./otlp.ts";

const NDJSON: BodyForm = {
  contentType: "application/x-ndjson",
  before: "",
  item: ({ text }) => text,
  between: "\n",
  after: "\n",
};

/** The batched content mode of CloudEvents over HTTP (HTTP Protocol Binding 1.0 section 3.3), in JSON. */
const CLOUDEVENTS_BATCH: BodyForm = {
  ...NDJSON,
  contentType: "application/cloudevents-batch+json",
  before: "[",
  between: ",",
  after: "]",
};

/** Splunk's HTTP Event Collector: one JSON object after another. */
function hecForm({ workspaceId, format }: SinkConfig): BodyForm {
  const about = `"source":"${workspaceId}","sourcetype":"governd:${format}"`;
  return {
    ...NDJSON,
    contentType: "application/json",
    item: ({ atMs, text }) => `{"time":${(atMs / 1_000).toFixed(3)},${about},"event":${text}}`,
    after: "",
  };
}

/** Returns the form of a sink's bodies. @param nowMs the time at which a body is made */
export function bodyForm(sink: SinkConfig, nowMs: number): BodyForm {
  switch (sink.type) {
    case "webhook":
      return sink.format === "cloudevents" ? CLOUDEVENTS_BATCH : NDJSON;
    case "otlp":
      return logForm(sink.workspaceId, nowMs);
    case "splunk_hec":
      return hecForm(sink);
    case "file":
    case "syslog":
      return NDJSON;
  }
}

/** Returns lines as a body. */
export const bodyOf = ({ before, item, between, after }: BodyForm, lines: readonly Line[]): Buffer =>
  Buffer.from(`${before}${lines.map(item).join(between)}${after}`);

/** Returns the bytes of a body without items. */
export const emptyBytes = ({ before, after }: BodyForm): number => Buffer.byteLength(before) + Buffer.byteLength(after);

/** Returns the bytes by which a line makes a body longer, at most. */
export const itemBytes = ({ item, between }: BodyForm, line: Line): number =>
  Buffer.byteLength(item(line)) + Buffer.byteLength(between);
