/**
 * Exports with filters. Completeness cannot be proved of them, so they are views: the event of the export states the
 * filter, and binds no content.
 */

import type { AgentState } from "../../core/rows/agents.ts";
import { scanEvents } from "../../core/rows/log/events.ts";
import type { StreamPlan } from "../../core/writer/contract.ts";
import { type Context, finished } from "../../core/writer/operation.ts";
import type { JsonObject } from "../../json.ts";
import { contentTypeOf, viewWriter } from "../../log/export-write.ts";
import { presentEvent } from "../../log/present.ts";
import { type ExportFormat, isView } from "../../operation-facts.ts";
import type { OperationInputs } from "../../operations.ts";
import type { Reader } from "../../store/transaction.ts";
import { fits, type TrailFilter } from "../../trail-filter.ts";
import { agentIdOf } from "./scope.ts";

type ExtractPlan = Extract<StreamPlan, { kind: "extract" }>;

/** The events that are read at once. */
const EVENTS_AT_ONCE = 500;

const EXTENSIONS = {
  json: "json",
  ndjson: "ndjson",
  csv: "csv",
  cloudevents: "cloudevents.ndjson",
  ocsf: "ocsf.ndjson",
} as const satisfies Record<ExportFormat, string>;

/** Returns the name of the file of an export. */
export const fileName = (about: string, at: string, format: ExportFormat): string =>
  `audit-${about.replaceAll(/[^A-Za-z0-9._-]/g, "_")}-${at.slice(0, 10)}.${EXTENSIONS[format]}`;

/** The outcome of an export with a filter. */
export function extract(
  context: Context,
  { scope, format, window }: OperationInputs["audit.export"],
  filter: TrailFilter,
  agent: AgentState | null,
  details: JsonObject,
) {
  if (!isView(format)) throw new Error(`${format} is no view`);
  const agentId = agentIdOf(scope);
  const body: ExtractPlan = { kind: "extract", agentId, filter, format, window, eventSeq: context.seq };
  return finished(agent, details, {
    kind: "stream" as const,
    contentType: contentTypeOf(format),
    filename: fileName(agentId ?? context.workspaceId, context.timestamp, format),
    body,
  });
}

/** Returns the export as pieces of text, oldest event first. */
export async function* streamExtract(reader: Reader, plan: ExtractPlan): AsyncGenerator<string> {
  const { agentId, filter, window, eventSeq } = plan;
  const { startMs = Number.NEGATIVE_INFINITY, endMs = Number.POSITIVE_INFINITY } = window;
  const writer = viewWriter(plan.format);
  yield writer.begin();
  for (let from = 0; ; ) {
    const page = await scanEvents(reader, agentId, { from, limit: EVENTS_AT_ONCE });
    let text = "";
    for (const stored of page) {
      const event = presentEvent(stored);
      if (event.seq >= eventSeq) break;
      from = (agentId === null ? event.seq : event.agent_seq) + 1;
      const atMs = Date.parse(event.timestamp);
      if (atMs >= startMs && atMs < endMs && fits(filter, event)) text += writer.event(stored);
    }
    // Even an empty piece is yielded, so that the thread can do other work.
    yield text;
    if (page.length < EVENTS_AT_ONCE) return;
  }
}
