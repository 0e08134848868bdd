/** Formats events for a sink, one JSON text each, and the records of positions and gaps. */
import { cloudEvent, ocsfEvent } from "../../log/export-views.ts";
import type { PresentedEvent } from "../../log/present.ts";
import type { SinkFormat } from "../../sink.ts";

/** The end of a batch, with which the receiver can detect a gap or a fork. */
export interface PositionRecord {
  type: "position";
  /** The position of the last event that the batch covers. */
  position: number;
  /** The hash of that event. */
  hash: string;
  /** The number of events that the newest seal covers; null before the first seal. */
  seal_size: number | null;
}

/**
 * Positions, inclusive, of which a prune removed events before they were delivered. Events that it kept follow.
 */
interface GapRecord {
  type: "gap";
  from: number;
  to: number;
}

/** The record of a test. */
interface TestRecord {
  type: "test";
  sink_id: string;
}

type SinkRecord = PositionRecord | GapRecord | TestRecord;

/** An event or a record to deliver. */
export interface Line {
  /** Constant, so that the receiver can recognise a repetition. */
  id: string;
  /** The time of the event, ms since the Unix epoch. */
  atMs: number;
  /** The operation of an event, or the type of a record. */
  name: string;
  /** Whether the event is about a refused operation. */
  isRefusal: boolean;
  /** The trace of the request that an event records (`traceparent`); null without one. */
  trace: string | null;
  /** The text, JSON. */
  text: string;
}

/** The form of a body. */
export interface BodyForm {
  contentType: string;
  before: string;
  /** Returns a line as an item. */
  item(line: Line): string;
  between: string;
  after: string;
}

const shownOf = ({ details, details_salt, ...others }: PresentedEvent) => others;

/** Returns an event in the form of a sink. */
export function eventLine(event: PresentedEvent, format: SinkFormat, includeDetails: boolean): Line {
  const shown = includeDetails ? event : shownOf(event);
  const text = JSON.stringify(viewOf(event, shown, format));
  const trace = typeof event.details?.trace === "string" ? event.details.trace : null;
  const isRefusal = event.result === "blocked" || event.result === "denied";
  return { id: event.id, atMs: Date.parse(event.timestamp), name: event.operation, isRefusal, trace, text };
}

function viewOf(event: PresentedEvent, shown: Partial<PresentedEvent>, format: SinkFormat): object {
  switch (format) {
    case "governd":
      return shown;
    case "cloudevents":
      return cloudEvent(event, shown);
    case "ocsf":
      return ocsfEvent(event, shown);
  }
}

/**
 * Returns a record in the form of a sink. OCSF has no class for records, so they have the form of plain events there,
 * too.
 */
export function recordLine(record: SinkRecord, format: SinkFormat, workspaceId: string, atMs: number): Line {
  const { type, ...data } = record;
  const id = `${workspaceId}-${type}-${"to" in record ? record.to : "position" in record ? record.position : atMs}`;
  const line = { id, atMs, name: type, isRefusal: false, trace: null };
  if (format !== "cloudevents") return { ...line, text: JSON.stringify(record) };
  const event = {
    specversion: "1.0",
    id,
    source: `/workspaces/${workspaceId}`,
    type: `governd.${type}`,
    time: new Date(atMs).toISOString(),
    datacontenttype: "application/json",
    data,
  };
  return { ...line, text: JSON.stringify(event) };
}
