/**
 * Exports: the operation that records one and decides what it holds, and the stream of its text, page by page, on a
 * reader thread.
 */
import { showTime } from "../../ids.ts";
import { encodeExportCursor } from "../../lists.ts";
import type { ExportProof } from "../../log/export-format.ts";
import { EXPORT_CONTENT_TYPES, exportProof, exportWriter } from "../../log/export-write.ts";
import { eventHash } from "../../log/hash.ts";
import { presentEvent } from "../../log/present.ts";
import type { StoredEvent } from "../../log/rows.ts";
import { type EventRange, positionOf, resolveRange, scanEvents } from "../../state/events.ts";
import { prunedBefore } from "../../state/pruning.ts";
import { sealingKey, sealOfSize } from "../../state/seals.ts";
import { treeReader } from "../../state/tree.ts";
import type { Reader } from "../../store/transaction.ts";
import type { StreamPlan } from "../../workspace/contract.ts";
import { finished, notFound, type Operation } from "../../workspace/operation.ts";
import { agentIdOf, NO_AGENT, subjectOf, windowDetails } from "./scope.ts";

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

export const exportAudit: Operation<"audit.export"> = async (reader, context, input) => {
  const { scope, format, window, resume } = input;
  const { agent, asked } = await subjectOf(reader, context, scope);
  if (agent === null && "agentId" in scope) {
    return notFound(null, scope.agentId, "agent_not_found", NO_AGENT, { format });
  }
  const seal = resume === undefined ? await context.seal() : await sealOfSize(reader, resume.beforeSeq);
  const verifierKey = await sealingKey(reader);
  const plan: ExportPlan = {
    kind: "export",
    scope,
    format,
    window,
    // A cursor is not secret. It must not reach events after this operation.
    beforeSeq: Math.min(resume?.beforeSeq ?? context.seq, context.seq),
    seal: seal === null || verifierKey === null ? null : { size: seal.size, note: seal.note, verifierKey },
    exportedAt: resume?.exportedAt ?? context.timestamp,
    received: resume?.received ?? 0,
  };
  const { beforeSeq, exportedAt, received } = plan;
  return finished(
    agent,
    { ...asked, ...windowDetails(window), format, ...(received > 0 ? { received } : {}) },
    {
      kind: "stream",
      ...headersOf(plan, context.workspaceId),
      cursor: encodeExportCursor({ scope, format, window }, beforeSeq, exportedAt),
      body: plan,
    },
  );
};

function headersOf(plan: ExportPlan, workspaceId: string): { contentType: string; filename: string } {
  const name = (agentIdOf(plan.scope) ?? workspaceId).replaceAll(/[^A-Za-z0-9._-]/g, "_");
  return {
    // The second part of a JSON text is not JSON.
    contentType:
      plan.received > 0 && plan.format === "json" ? "application/octet-stream" : EXPORT_CONTENT_TYPES[plan.format],
    filename: `audit-${name}-${plan.exportedAt.slice(0, 10)}.${EXTENSIONS[plan.format]}`,
  };
}

/** Returns the export as pieces of text. Holds one page of events at a time. */
export async function* streamExport(reader: Reader, plan: ExportPlan, workspaceId: string): AsyncGenerator<string> {
  const agentId = agentIdOf(plan.scope);
  const { window, beforeSeq } = plan;
  const range = await resolveRange(reader, { agentId, window, beforeSeq });
  const { startMs, endMs } = window;
  const writer = exportWriter(plan.format, {
    workspace_id: workspaceId,
    agent_id: agentId,
    start_time: startMs === undefined ? await prunedStart(reader, range) : showTime(startMs),
    end_time: endMs === undefined ? null : showTime(endMs),
    exported_at: plan.exportedAt,
    event_count: range.count,
    starts_after: range.startsAfter,
    proof: plan.seal === null ? null : await proofOf(reader, range, plan.seal.size),
    seal: plan.seal?.note ?? null,
    public_key: plan.seal?.verifierKey ?? null,
  });
  const { received } = plan;
  if (received > range.count) throw new RangeError("the export does not have that many events");
  if (received === 0) yield writer.begin();
  else writer.resume(received, eventHash((await eventAt(reader, range, range.first + received - 1)).canonical));
  for await (const page of pages(reader, { ...range, first: range.first + received }))
    yield page.map((event) => writer.event(event)).join("");
  yield writer.end();
}

async function proofOf(reader: Reader, range: EventRange, size: number): Promise<ExportProof | null> {
  if (range.count === 0) return null;
  const { agentId, first, last } = range;
  const run =
    agentId === null
      ? { first, last }
      : { first: await positionOf(reader, agentId, first), last: await positionOf(reader, agentId, last) };
  return exportProof(agentId, run, size, treeReader(reader));
}

/** Returns the time of the first event if the beginning of the log is pruned: the export is then a window. */
async function prunedStart(reader: Reader, range: EventRange): Promise<string | null> {
  if (range.count === 0 || (await prunedBefore(reader)) === 0) return null;
  return presentEvent(await eventAt(reader, range, range.first)).timestamp;
}

/** Returns one event of a range, by its number in the range. */
async function eventAt(reader: Reader, range: EventRange, number: number): Promise<StoredEvent> {
  const [event] = await scanEvents(reader, range.agentId, { from: number, to: number });
  if (event === undefined) throw new Error("an event of the export is missing");
  return event;
}

async function* pages(reader: Reader, range: EventRange): AsyncGenerator<StoredEvent[]> {
  for (let from = range.first; from <= range.last; from += EVENTS_AT_ONCE) {
    yield await scanEvents(reader, range.agentId, { from, to: Math.min(from + EVENTS_AT_ONCE - 1, range.last) });
  }
}
