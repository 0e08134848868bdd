/** The events that problems name, read from the log. */
import { EventFormatError, parseEvent } from "../log/event.ts";
import type { Reader } from "../store/transaction.ts";
import { textBytes } from "./columns.ts";
import type { ReportedProblem } from "./report-schema.ts";

/** Adds to each problem with a position, but without an event, what the event of that position says of itself. */
export async function nameEvents(reader: Reader, problems: readonly ReportedProblem[]): Promise<void> {
  for (const problem of problems) {
    if (problem.seq === null || problem.operation !== null) continue;
    const row = await reader.get<[Buffer | null]>(`SELECT ${textBytes("body")} FROM events WHERE seq = ?`, [
      problem.seq,
    ]);
    const event = row?.[0] ? eventIn(row[0]) : null;
    if (event === null || event.seq !== problem.seq) continue;
    const { id, agent_id, agent_seq, operation, timestamp } = event;
    Object.assign(problem, { id, agent_id, agent_seq, operation, timestamp });
  }
}

function eventIn(body: Buffer) {
  try {
    return parseEvent(body.toString("latin1"));
  } catch (error) {
    if (error instanceof EventFormatError) return null; // what is wrong with it is reported
    throw error;
  }
}
