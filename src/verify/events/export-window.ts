/**
 * Whether an export holds the events that its header announces. The rules, for an export with no start time and no
 * end time (a whole export): it begins at the first event and ends at the last event under its seal. With a start or
 * an end time it is a window, and its first and its last event have their times in it. An event between them may lie
 * outside only where the clock stepped back, because the order of events is the log's and not the clock's.
 */
import type { ExportHeader } from "../../log/export-format.ts";
import { NoteError } from "../../log/note.ts";
import { parseSeal } from "../../log/seal.ts";
import type { ChainEnd } from "./chains.ts";
import type { LogVerifier } from "./log-verifier.ts";

/** Why nothing can be established of an export that holds no events. */
export const NO_EVENTS = "the export holds no events, and nothing proves that there were none";

/** Whether an export is to hold its scope from the first event to the last. */
export function isWhole(header: ExportHeader): boolean {
  return header.start_time === null && header.end_time === null;
}

/** The size of an export's seal; null when it has none that can be read. */
export function sealedSize({ seal }: ExportHeader): number | null {
  if (seal === null) return null;
  try {
    return parseSeal(seal).size;
  } catch (error) {
    if (error instanceof NoteError) return null;
    throw error;
  }
}

/** Whether an export without events can be right: it is whole, and its seal covers no event. */
export function nothingOmitted(header: ExportHeader): boolean {
  return isWhole(header) && header.agent_id === null && sealedSize(header) === 0;
}

/** Checks the edges of an export, after all events were fed. */
export function checkExportWindow(verifier: LogVerifier, header: ExportHeader): void {
  const { first, last } = verifier;
  const problem = windowProblem(header, first, last);
  if (problem !== null) verifier.report("export_window", null, null, problem);
}

function windowProblem(
  header: ExportHeader,
  first: Readonly<ChainEnd> | null,
  last: Readonly<ChainEnd> | null,
): string | null {
  const { agent_id: agentId, starts_after: startsAfter, start_time: start, end_time: end } = header;
  if (startsAfter !== null && (start === null || agentId === null || first === null)) {
    return "the header names an event before the first one, which only a window of an agent has";
  }
  const size = sealedSize(header);
  if (first === null || last === null) {
    const omits = agentId === null && isWhole(header) && size !== null && size > 0;
    return omits ? `the export holds no events, and its seal covers ${size}` : null;
  }
  if (start === null && agentId === null && first.event.seq !== 0) {
    return `the export begins with event ${first.event.seq}, and states no start time`;
  }
  if (isWhole(header) && agentId === null && size !== null && last.event.seq < size - 1) {
    return `the export ends with event ${last.event.seq}, and its seal covers events through ${size - 1}`;
  }
  return timeProblem(start, end, first.event.timestamp, last.event.timestamp);
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,3})?Z$/;

/** A time in the form of events, in which times compare as texts; null when it is not a time. */
function comparable(time: string): string | null {
  if (!TIME.test(time)) return null;
  const [seconds, decimals = ""] = time.slice(0, -1).split(".");
  return `${seconds}.${decimals.padEnd(3, "0")}Z`;
}

function timeProblem(start: string | null, end: string | null, first: string, last: string): string | null {
  const from = start === null ? "" : comparable(start);
  const to = end === null ? "~" : comparable(end);
  if (from === null || to === null) return "the header's start or end time is not a time";
  if (first < from || first >= to) return "the first event is outside the header's times";
  // A log whose beginning was pruned is exported from the time of its first event on, whatever the clock did later.
  const early = last < from && first !== from;
  return early || last >= to ? "the last event is outside the header's times" : null;
}
