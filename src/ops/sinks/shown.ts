/** Shows sinks, and reads them for the API: reads are not recorded. */

import type { Answer } from "../../core/writer/contract.ts";
import { eventsBehind } from "../../follow/sinks/batch.ts";
import { findSink, listSinks, type StoredSink } from "../../follow/sinks/stored.ts";
import { showTime, showTimeOrNull } from "../../ids.ts";
import type { OperationInputs } from "../../operations.ts";
import { Problem } from "../../problem.ts";
import type { Reader } from "../../store/transaction.ts";

/** The progress of a new sink. */
export const NO_PROGRESS = { position: null, deliveredAt: null, lastError: null } as const;

/** A sink to be shown: what is secret is left out. */
export type ShownSink = Omit<StoredSink, "secrets" | "revision">;

/** Returns a sink without its secrets. @param lag the number of events behind it; null when it is not known */
export function shownSink(sink: ShownSink, lag: number | null) {
  const { id, type, url, format, filter, includeDetails, start, enabled, ca, clientCertificate } = sink;
  const { createdAt, createdBy, position, deliveredAt, lastError } = sink;
  const isFailing = lastError !== null && lastError.isPartial !== true;
  return {
    ...{ id, type, url, format, filter, include_details: includeDetails, start, enabled, ca },
    client_certificate: clientCertificate,
    created_at: createdAt,
    created_by: createdBy,
    state: !enabled ? "disabled" : isFailing ? "failing" : "ok",
    position,
    lag,
    last_delivery_at: showTimeOrNull(deliveredAt),
    last_error: lastError && { at: showTime(lastError.at), message: lastError.message },
  };
}

/** Returns a sink with the number of events behind it, as it is shown. */
export const shownWithLag = async (reader: Reader, sink: StoredSink) =>
  shownSink(sink, await eventsBehind(reader, sink));

/** Returns a sink of the workspace. @throws {Problem} `sink_not_found` */
export async function requireSink(reader: Reader, id: string): Promise<StoredSink> {
  const sink = await findSink(reader, id);
  if (sink === undefined) {
    throw new Problem("sink_not_found", "The workspace has no such sink. GET /v1/sinks lists all.");
  }
  return sink;
}

export async function showSinks(reader: Reader): Promise<Answer> {
  const data: object[] = [];
  for (const sink of await listSinks(reader)) data.push(await shownWithLag(reader, sink));
  return { kind: "json", status: 200, body: JSON.stringify({ data }) };
}

export async function showSink(
  reader: Reader,
  _context: unknown,
  { sinkId }: OperationInputs["sink.read"],
): Promise<Answer> {
  const sink = await requireSink(reader, sinkId);
  return { kind: "json", status: 200, body: JSON.stringify(await shownWithLag(reader, sink)) };
}
