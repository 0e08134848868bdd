/**
 * Exports. A reader thread finds the first and the last event. The workspace's thread records the export: its event
 * states the content (log/export-binding.ts), and a seal over this event is made in the same transaction. Then a reader
 * thread streams the text page by page. The text follows from the event alone, so an interrupted export can be resumed
 * at any time.
 */

import { encodeExportCursor } from "../../core/lists.ts";
import { erasuresOf, eventAt, scanEvents, windowLimits } from "../../core/rows/log/events.ts";
import { prunedBefore } from "../../core/rows/log/pruning.ts";
import { newestSeal, type StoredSeal, sealingKeyAt, sealOfSize } from "../../core/rows/log/seals.ts";
import { treeReader } from "../../core/rows/log/tree.ts";
import type { StreamPlan } from "../../core/writer/contract.ts";
import { type Context, finished, noAgent, operation } from "../../core/writer/operation.ts";
import type { JsonObject, JsonValue } from "../../json.ts";
import { type AuditEventBody, VOCABULARY } from "../../log/event.ts";
import type { BoundExport } from "../../log/export-binding.ts";
import type { ExportHeader } from "../../log/export-schema.ts";
import { contentTypeOf, exportProof, exportWriter } from "../../log/export-write.ts";
import { bodyOf, presentEvent, storedFromPresented } from "../../log/present.ts";
import { inclusionProof } from "../../log/proof.ts";
import { hexOf, type StoredEvent } from "../../log/rows.ts";
import { Problem } from "../../problem.ts";
import type { Reader } from "../../store/transaction.ts";
import { announcedKeys, epochRestores, shownRestores } from "./announced-keys.ts";
import { extract, fileName } from "./extract.ts";
import { agentIdOf, filterDetails, subjectOf, windowDetails } from "./scope.ts";

type ExportPlan = Extract<StreamPlan, { kind: "export" }>;
type Wanted = Pick<ExportPlan, "scope" | "window">;

/** The events that are read at once. */
const EVENTS_AT_ONCE = 500;
/**
 * How long the end of an export waits for the seal over an erasure that happened meanwhile, and how often it checks,
 * ms.
 */
const SEAL_WAIT_MS = 15_000;
const LOOK_EVERY_MS = 250;

/**
 * The first and last event of an export, found by a reader thread; the workspace's thread then checks only newer
 * events.
 */
interface FoundLimits extends JsonObject {
  first: number | null;
  last: number | null;
  /** The last number that was examined, and the last one of the workspace's own chain. */
  through: number;
  ownThrough: number;
  pruned: number;
}

const isWindow = ({ window: { startMs, endMs } }: Wanted): boolean => startMs !== undefined || endMs !== undefined;

/** Finds the first and last event of an export, among the events that were not examined before. */
async function findLimits(reader: Reader, wanted: Wanted, known?: FoundLimits): Promise<FoundLimits> {
  const agentId = agentIdOf(wanted.scope);
  const through = await lastNumber(reader, agentId);
  const own = "SELECT max(agent_seq) FROM events WHERE agent_id IS NULL";
  const ownThrough = (await reader.value<number | null>(own)) ?? 0;
  const pruned = Math.max(known?.pruned ?? 0, await prunedBefore(reader, known?.ownThrough));
  // A pruning may have removed the first event that was found.
  if (known !== undefined && pruned > known.pruned) return findLimits(reader, wanted);
  const common = { through, ownThrough, pruned };
  if (!isWindow(wanted)) {
    const first = known?.first ?? (await firstNumber(reader, agentId, pruned));
    return { first, last: first === null ? null : through, ...common };
  }
  const after = known?.through ?? -1;
  const found = await windowLimits(reader, agentId, wanted.window, { after, fromSeq: pruned });
  return { first: known?.first ?? found.first, last: found.last ?? known?.last ?? null, ...common };
}

/** Returns the number of the first event that was not pruned. */
async function firstNumber(reader: Reader, agentId: string | null, pruned: number): Promise<number | null> {
  if (agentId === null) return pruned;
  return pruned === 0 ? 1 : (await windowLimits(reader, agentId, {}, { after: -1, fromSeq: pruned })).first;
}

async function lastNumber(reader: Reader, agentId: string | null): Promise<number> {
  const [sql, bound] =
    agentId === null
      ? ["SELECT max(seq) FROM events", []]
      : ["SELECT max(agent_seq) FROM events WHERE agent_id = ?", [agentId]];
  return (await reader.value<number | null>(sql, bound)) ?? -1;
}

/** Returns what the event of an export states about the export. */
async function boundBy(reader: Reader, context: Context, wanted: Wanted, found?: FoundLimits): Promise<JsonObject> {
  const { first, last, pruned } = await findLimits(reader, wanted, found);
  const agentId = agentIdOf(wanted.scope);
  const edge = async (number: number) => {
    const event = await eventAt(reader, agentId, number);
    if (event === undefined) throw new Error("an event of the export is missing");
    const { seq, agent_seq } = bodyOf(event);
    return { seq, agent_seq, hash: hexOf(event.hash as string) };
  };
  const empty = first === null || last === null;
  return {
    event_count: empty ? 0 : last - first + 1,
    first: empty ? null : await edge(first),
    last: empty ? null : await edge(last),
    tree_root: hexOf(await context.treeRoot()),
    restores: (await epochRestores(reader)).length,
    vocabulary: VOCABULARY,
    ...(pruned > 0 ? { pruned_before: pruned } : {}),
  };
}

export const exportAudit = operation("audit.export", {
  async look(reader, _context, { resume, filter, ...wanted }): Promise<FoundLimits | null> {
    return resume === undefined && filter === undefined ? findLimits(reader, wanted) : null;
  },
  async run(reader, context, input, found) {
    const { scope, format, window, resume, filter } = input;
    const { agent, asked, policies } = await subjectOf(context, scope);
    if (agent === null && "agentId" in scope) {
      return noAgent(null, scope.agentId, { format });
    }
    const details = { ...asked, ...windowDetails(window), format };
    if (filter !== undefined) {
      return extract(context, input, filter, agent, { ...details, ...filterDetails(filter, policies) });
    }
    const received = resume?.received ?? 0;
    const eventSeq = resume?.beforeSeq ?? context.seq;
    const plan: ExportPlan = { kind: "export", scope, format, window, eventSeq, received };
    const exportedAt = resume?.exportedAt ?? context.timestamp;
    const answer = {
      kind: "stream" as const,
      ...headersOf(plan, exportedAt, context.workspaceId),
      cursor: encodeExportCursor({ scope, format, window }, eventSeq, exportedAt),
      body: plan,
    };
    if (resume === undefined) {
      const bound = await boundBy(reader, context, input, found ?? undefined);
      return finished(agent, { ...details, ...bound }, answer, true);
    }
    // A cursor is not secret, so it must name the event of such an export, and events that this export contains.
    const resumed = await bindingAt(reader, plan);
    if (resumed === null || received > resumed.said.event_count) throw new Problem("invalid_request", NO_EXPORT);
    return finished(agent, { ...details, received }, answer);
  },
});

const NO_EXPORT = 'The "cursor" does not continue an export of this trail. Export it from its beginning.';

/** Returns the event of an export; null when the plan does not name one. */
async function bindingAt(reader: Reader, { scope, format, eventSeq }: ExportPlan) {
  // Imported when first needed, since it imports the schema compiler, a third of what a thread would load at its start.
  const { EXPORT, readBinding } = await import("../../log/export-binding.ts");
  const stored = await eventAt(reader, null, eventSeq);
  if (stored === undefined || bodyOf(stored).operation !== EXPORT || stored.details === null) return null;
  if (!Object.hasOwn(JSON.parse(stored.details) as JsonObject, "tree_root")) return null;
  const shown = presentEvent(stored);
  const binding = readBinding(storedFromPresented(shown as unknown as JsonValue));
  const fits = binding.event.agent_id === agentIdOf(scope) && binding.said.format === format;
  return fits ? { ...binding, shown } : null;
}

function headersOf(plan: ExportPlan, at: string, workspaceId: string): { contentType: string; filename: string } {
  return {
    // The rest of a JSON text is not itself JSON.
    contentType: plan.received > 0 && plan.format === "json" ? "application/octet-stream" : contentTypeOf(plan.format),
    filename: fileName(agentIdOf(plan.scope) ?? workspaceId, at, plan.format),
  };
}

/** Yields the export as pieces of text. Keeps one page of events in memory at a time. */
export async function* streamExport(reader: Reader, plan: ExportPlan, workspaceId: string): AsyncGenerator<string> {
  const binding = await bindingAt(reader, plan);
  if (binding === null) throw new Error("there is no event of this export");
  const { event, said, shown } = binding;
  const agentId = agentIdOf(plan.scope);
  const numberOf = (of: { seq: number; agent_seq: number }): number => (agentId === null ? of.seq : of.agent_seq);
  const { first, last } = said;
  const bounds = first === null || last === null ? null : { first: numberOf(first), last: numberOf(last) };
  const next = bounds === null ? await firstAfter(reader, agentId, plan, said, numberOf(event)) : bounds.last + 1;
  const before = await bodyAt(reader, agentId, (bounds?.first ?? next) - 1);
  const after = await bodyAt(reader, agentId, next);
  if (after === null) throw new Error("the event after the export is missing");
  const seal = await sealOfSize(reader, event.seq + 1);
  const key = await sealingKeyAt(reader, event.seq);
  const sealed = seal !== null && key !== null;
  const tree = treeReader(reader);
  const run = { first: before?.seq ?? after.seq, last: after.seq };
  if (before === null && first !== null) run.first = first.seq;
  const isWholeLog = agentId === null && !isWindow(plan) && first?.seq === 0;
  const about: Omit<ExportHeader, "format"> = {
    vocabulary: said.vocabulary,
    workspace_id: workspaceId,
    agent_id: agentId,
    start_time: said.start_time ?? null,
    end_time: said.end_time ?? null,
    exported_at: event.timestamp,
    event_count: said.event_count,
    before: before as JsonObject | null,
    after: after as unknown as JsonObject,
    binding: shown as unknown as JsonObject,
    proof: sealed
      ? {
          ...(await exportProof(agentId, run, seal.size, tree)),
          binding: (await inclusionProof(event.seq, seal.size, tree)).map(hexOf),
        }
      : null,
    seal: sealed ? seal.note : null,
    public_key: sealed ? key : null,
    ...(sealed ? await announcedKeys(reader, seal.size) : {}),
    ...(sealed && !isWholeLog ? await shownRestores(reader, seal.size) : {}),
  };
  const writer = exportWriter(plan.format, about);
  const { received } = plan;
  if (received === 0) yield writer.begin();
  let blanks = 0;
  if (bounds !== null) {
    const from = bounds.first + received;
    if (received > 0) {
      const previous = await eventAt(reader, agentId, from - 1);
      writer.resume(received, hexOf(previous?.hash ?? ""));
    }
    for await (const page of pages(reader, agentId, from, bounds.last)) {
      for (const { details } of page) if (details === null) blanks += 1;
      yield page.map((one) => writer.event(one)).join("");
    }
  }
  // If an export is resumed, the earlier part may also have blanks.
  yield writer.end(blanks > 0 || received > 0 ? await laterErasures(reader, agentId, said) : undefined);
}

/** Returns the number of the first event after an empty window, which is at the latest the export's own event. */
async function firstAfter(
  reader: Reader,
  agentId: string | null,
  { window: { endMs } }: ExportPlan,
  { pruned_before: fromSeq = 0 }: BoundExport,
  own: number,
): Promise<number> {
  if (endMs === undefined) return own;
  const { first } = await windowLimits(reader, agentId, { startMs: endMs }, { after: -1, fromSeq });
  return Math.min(first ?? own, own);
}

/** Returns the body of the event with this number; null when there is none. */
async function bodyAt(reader: Reader, agentId: string | null, number: number): Promise<AuditEventBody | null> {
  const event = await eventAt(reader, agentId, number);
  return event === undefined ? null : bodyOf(event);
}

/**
 * Returns the erasures after the last exported event that erased details of exported events, with proofs to the newest
 * seal; undefined when there are none.
 */
async function laterErasures(reader: Reader, agentId: string | null, { first, last }: BoundExport) {
  if (first === null || last === null) return undefined;
  const found = await erasuresOf(reader, agentId, { first: first.seq, last: last.seq });
  if (found.length === 0) return undefined;
  const seal = await sealOver(reader, bodyOf(found.at(-1) as StoredEvent).seq);
  const tree = treeReader(reader);
  const events = found.map(async (stored) => {
    const { seq } = bodyOf(stored);
    const path = seal !== null && seq < seal.size ? (await inclusionProof(seq, seal.size, tree)).map(hexOf) : null;
    return { event: presentEvent(stored) as unknown as JsonObject, path };
  });
  return { events: await Promise.all(events), seal: seal?.note ?? null };
}

/** Waits until an event, which was recorded during an export, is sealed. Returns the newest seal. */
async function sealOver(reader: Reader, seq: number): Promise<StoredSeal | null> {
  for (let waitedMs = 0; ; waitedMs += LOOK_EVERY_MS) {
    const seal = await newestSeal(reader);
    if (seal === null || seal.size > seq || waitedMs >= SEAL_WAIT_MS) return seal;
    await Bun.sleep(LOOK_EVERY_MS);
  }
}

async function* pages(reader: Reader, agentId: string | null, first: number, last: number) {
  for (let from = first; from <= last; from += EVENTS_AT_ONCE) {
    yield await scanEvents(reader, agentId, { from, to: Math.min(from + EVENTS_AT_ONCE - 1, last) });
  }
}
