/** Streams an export, page by page, as it was decided when its event was recorded. */
import type { ExportProof } from "../../log/export-format.ts";
import { EXPORT_CONTENT_TYPES, exportProof, exportWriter } from "../../log/export-write.ts";
import { eventHash } from "../../log/hash.ts";
import { presentEvent } from "../../log/present.ts";
import type { StoredEvent } from "../../log/rows.ts";
import { type EventRange, positionOf, resolveRange, scanEvents } from "../../state/events.ts";
import { prunedBefore } from "../../state/pruning.ts";
import { treeReader } from "../../state/tree.ts";
import type { Reader } from "../../store/transaction.ts";
import type { StreamPlan } from "../../workspace/contract.ts";

type ExportPlan = Extract<StreamPlan, { kind: "export" }>;

/** Events read at once. */
const EVENTS_AT_ONCE = 500;

const EXTENSIONS = {
  json: "json",
  ndjson: "ndjson",
  csv: "csv",
  cloudevents: "cloudevents.ndjson",
  ocsf: "ocsf.ndjson",
} as const;

/** How the response is labelled. */
export function exportHeaders(
  plan: ExportPlan,
  workspaceId: string,
): { contentType: string; filename: string } {
  const subject = "agentId" in plan.scope ? plan.scope.agentId : workspaceId;
  const name = subject.replaceAll(/[^A-Za-z0-9._-]/g, "_");
  return {
    // The rest of a JSON text is no JSON text.
    contentType:
      plan.received > 0 && plan.format === "json"
        ? "application/octet-stream"
        : EXPORT_CONTENT_TYPES[plan.format],
    filename: `audit-${name}-${plan.exportedAt.slice(0, 10)}.${EXTENSIONS[plan.format]}`,
  };
}

/** The export as pieces of text. Nothing is held but one page of events. */
export async function* streamExport(
  reader: Reader,
  plan: ExportPlan,
  workspaceId: string,
): AsyncGenerator<string> {
  const agentId = "agentId" in plan.scope ? plan.scope.agentId : null;
  const wanted = {
    everything: !("agentId" in plan.scope),
    agentId,
    window: plan.window,
    beforeSeq: plan.beforeSeq,
  };
  const range = await resolveRange(reader, wanted);
  const writer = exportWriter(plan.format, {
    workspace_id: workspaceId,
    agent_id: agentId,
    start_time: showTime(plan.window.startMs) ?? (await prunedStart(reader, range)),
    end_time: showTime(plan.window.endMs),
    exported_at: plan.exportedAt,
    event_count: range.count,
    starts_after: range.startsAfter,
    proof: plan.seal === null ? null : await proofOf(reader, range, plan.seal.size),
    seal: plan.seal?.note ?? null,
    public_key: plan.seal?.verifierKey ?? null,
  });
  const { received } = plan;
  if (received > range.count) throw new RangeError("the export has not that many events");
  if (received === 0) yield writer.begin();
  else writer.resume(received, await hashOf(reader, range, range.first + received - 1));
  for await (const page of pages(reader, { ...range, first: range.first + received }))
    yield page.map((event) => writer.event(event)).join("");
  yield writer.end();
}

async function proofOf(reader: Reader, range: EventRange, size: number): Promise<ExportProof | null> {
  if (range.count === 0) return null;
  const run = range.everything
    ? { first: range.first, last: range.last }
    : {
        first: await positionOf(reader, range.agentId, range.first),
        last: await positionOf(reader, range.agentId, range.last),
      };
  return exportProof(range.everything ? null : range.agentId, run, size, treeReader(reader));
}

/** Where the beginning of the log is pruned, every export is a window that begins with what is left. */
async function prunedStart(reader: Reader, range: EventRange): Promise<string | null> {
  if (range.count === 0 || (await prunedBefore(reader)) === 0) return null;
  const [first] = await scanEvents(reader, range, { from: range.first, to: range.first });
  return first === undefined ? null : presentEvent(first).timestamp;
}

/** The hash of one event of a range, by its number there. */
async function hashOf(reader: Reader, range: EventRange, number: number): Promise<string> {
  const [event] = await scanEvents(reader, range, { from: number, to: number });
  if (event === undefined) throw new Error("an event of the export is missing");
  return eventHash(event.canonical);
}

async function* pages(reader: Reader, range: EventRange): AsyncGenerator<StoredEvent[]> {
  for (let from = range.first; from <= range.last; from += EVENTS_AT_ONCE) {
    yield await scanEvents(reader, range, { from, to: Math.min(from + EVENTS_AT_ONCE - 1, range.last) });
  }
}

const showTime = (ms: number | undefined): string | null =>
  ms === undefined ? null : new Date(ms).toISOString();
