/** Events in the form of a sink, one JSON text each, and the records beside them: positions and gaps. */
import { cloudEvent, ocsfEvent } from "../log/export-views.ts";
import type { PresentedEvent } from "../log/present.ts";
import type { SinkFormat } from "../sink.ts";

/** How far a batch reaches, so that the receiver can notice a gap or a fork by itself. */
export interface PositionRecord {
  type: "position";
  /** The last event that the batch covers. */
  position: number;
  /** Its hash. */
  hash: string;
  /** Events that the newest seal covers; null before the first. */
  seal_size: number | null;
}

/**
 * Positions, inclusive, in which a prune removed events before they were delivered. Those that it kept follow as events.
 */
interface GapRecord {
  type: "gap";
  from: number;
  to: number;
}

/** Shows that a sink works. */
interface TestRecord {
  type: "test";
  sink_id: string;
}

type SinkRecord = PositionRecord | GapRecord | TestRecord;

/** One thing to deliver. */
export interface Line {
  /** The same each time that it is delivered, so that the receiver can recognise it. */
  id: string;
  /** Ms since the Unix epoch. */
  atMs: number;
  /** The operation of an event, or the type of a record. */
  name: string;
  /** Whether it tells of something that was refused. */
  isRefusal: boolean;
  /** The trace of the request that an event records (`traceparent`); null without one. */
  trace: string | null;
  /** JSON. */
  text: string;
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

/** Returns a record in the form of a sink. OCSF has no class for it, so it is written there as among plain events. */
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
