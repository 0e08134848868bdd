/** OpenTelemetry logs over HTTP in JSON (OTLP 1, `ExportLogsServiceRequest`). */
import type { BodyForm, Line } from "./lines.ts";

/** Severities (`SEVERITY_NUMBER_…`) of refused operations, and of all others. */
const WARN = { severityNumber: 13, severityText: "WARN" };
const INFO = { severityNumber: 9, severityText: "INFO" };

/** `traceparent` of version 00 (W3C Trace Context). */
const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** Returns the form of the request that exports lines as log records. */
export function logForm(workspaceId: string, nowMs: number): BodyForm {
  const resource = {
    attributes: [attribute("service.name", "governd"), attribute("governd.workspace_id", workspaceId)],
  };
  const logRecord = ({ id, atMs, name, isRefusal, trace, text }: Line) => ({
    timeUnixNano: nanos(atMs),
    observedTimeUnixNano: nanos(nowMs),
    ...(isRefusal ? WARN : INFO),
    eventName: name,
    body: { stringValue: text },
    attributes: [attribute("event.id", id)],
    ...spanOf(trace),
  });
  return {
    contentType: "application/json",
    before: `{"resourceLogs":[{"resource":${JSON.stringify(resource)},"scopeLogs":[{"scope":{"name":"governd"},"logRecords":[`,
    item: (line) => JSON.stringify(logRecord(line)),
    between: ",",
    after: "]}]}]}",
  };
}

/**
 * Returns how much of a request a collector has rejected for good; null for nothing. Its message may repeat an event,
 * so it is left out.
 */
export function rejectedBy(answer: string): string | null {
  const rejected = Number(partialSuccessIn(answer)?.rejectedLogRecords ?? 0);
  return rejected > 0 ? `the collector did not accept ${rejected} records of the last delivery` : null;
}

function partialSuccessIn(answer: string): { rejectedLogRecords?: number | string } | undefined {
  try {
    return (JSON.parse(answer) as { partialSuccess?: { rejectedLogRecords?: number | string } } | null)?.partialSuccess;
  } catch {
    return undefined; // an empty answer accepts everything
  }
}

const attribute = (key: string, value: string) => ({ key, value: { stringValue: value } });

/** Returns a time in nanoseconds. In OTLP's JSON, 64-bit numbers are texts. */
const nanos = (ms: number): string => `${BigInt(ms) * 1_000_000n}`;

function spanOf(trace: string | null): { traceId?: string; spanId?: string; flags?: number } {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(trace ?? "") ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return {};
  return { traceId, spanId, flags: Number.parseInt(flags, 16) };
}
