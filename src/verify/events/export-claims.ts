/**
 * Compares the content of an export with its claims.
 *
 * The event of the export states which events it contains. The adjacent events before and after show that there are no
 * others: each is outside the window, was pruned, or is the event of the export.
 */
import type { JsonObject } from "../../json.ts";
import { parseEvent } from "../../log/event.ts";
import { type ExportBinding, readBinding } from "../../log/export-binding.ts";
import type { ExportHeader } from "../../log/export-schema.ts";
import { eventHash, ZERO_HASH } from "../../log/hash.ts";
import { canonicalFromMembers, storedFromPresented } from "../../log/present.ts";
import { hexOf } from "../../log/rows.ts";
import type { LogVerifier } from "./log-verifier.ts";
import type { ChainEnd } from "./segment.ts";

/** Whether an export claims to contain all events of its scope, and not only a window. */
export function isWhole(header: ExportHeader): boolean {
  return header.start_time === null && header.end_time === null;
}

/** The event of an export, and the adjacent events before and after the exported ones, each parsed by itself. */
export interface Bound {
  binding: ExportBinding;
  before: ChainEnd | null;
  after: ChainEnd;
}

/** @throws EventFormatError */
export function boundOf({ binding, before, after }: ExportHeader): Bound {
  const bodyOf = (members: JsonObject): ChainEnd => {
    const text = canonicalFromMembers(members);
    return { event: parseEvent(text), hash: eventHash(text) };
  };
  return { binding: readBinding(storedFromPresented(binding)), before: before && bodyOf(before), after: bodyOf(after) };
}

/** Returns what contradicts the event of an export; null for nothing. */
export function boundProblem(
  { first, last, tree }: LogVerifier,
  header: ExportHeader,
  { binding: { event, hash, said }, before, after }: Bound,
  form: "json" | "ndjson",
): string | null {
  const { agent_id: agentId, start_time: start = null, end_time: end = null } = header;
  const own =
    event.workspace_id === header.workspace_id &&
    event.agent_id === agentId &&
    event.timestamp === header.exported_at &&
    said.format === form;
  if (!own) return "the event of the export describes another export";
  if ((said.start_time ?? null) !== start || (said.end_time ?? null) !== end) {
    return "the header's start or end time is not the one that the event of the export states";
  }
  if (said.event_count !== header.event_count || !isEdge(said.first, first) || !isEdge(said.last, last)) {
    return "the events are not the ones that the event of the export states";
  }
  if (tree?.start === 0 && tree.end === event.seq && hexOf(tree.root()) !== said.tree_root) {
    return "the log before the event of the export is not the one that it states";
  }
  const follows = ({ event: next }: ChainEnd, previous: ChainEnd | null): boolean =>
    agentId === null
      ? next.seq === (previous?.event.seq ?? -1) + 1
      : next.agent_seq === (previous?.event.agent_seq ?? 0) + 1 && next.previous_hash === (previous?.hash ?? ZERO_HASH);
  const ends = [...(before === null ? [] : [before]), after];
  const related = ends.every(
    ({ event: one }) => one.workspace_id === header.workspace_id && (agentId === null || one.agent_id === agentId),
  );
  const atEnd = after.event.seq === event.seq;
  const adjacent =
    first === null || last === null
      ? [[after, before]]
      : [
          [first, before],
          [after, last],
        ];
  const inPlace = adjacent.every(([next, previous]) => follows(next as ChainEnd, previous as ChainEnd | null));
  if (!related || !inPlace || after.event.seq > event.seq || (atEnd && after.hash !== hash)) {
    return "the events before and after the exported ones are not the ones beside them";
  }
  const from = start === null ? "" : comparable(start);
  const to = end === null ? "~" : comparable(end);
  if (from === null || to === null) return "the header's start or end time is not a time";
  const isOutside = ({ event: { timestamp } }: ChainEnd): boolean => timestamp < from || timestamp >= to;
  const pruned = said.pruned_before ?? 0;
  if ((first ?? after).event.seq < pruned) return "the export holds events that were pruned";
  if (before !== null && before.event.seq >= pruned && !isOutside(before)) {
    return "the event before the first one belongs to the export, and is not in it";
  }
  if (!atEnd && !isOutside(after)) return "the event after the last one belongs to the export, and is not in it";
  if (first !== null && isOutside(first)) return "the first event is outside the header's times";
  return last !== null && isOutside(last) ? "the last event is outside the header's times" : null;
}

function isEdge(said: ExportBinding["said"]["first"], found: Readonly<ChainEnd> | null): boolean {
  if (said === null || found === null) return said === found;
  return said.seq === found.event.seq && said.agent_seq === found.event.agent_seq && said.hash === found.hash;
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,3})?Z$/;

/** Returns a time in the form of events, in which times can be compared as texts; null when it is not a time. */
function comparable(time: string): string | null {
  if (!TIME.test(time)) return null;
  const [seconds, decimals = ""] = time.slice(0, -1).split(".");
  return `${seconds}.${decimals.padEnd(3, "0")}Z`;
}
