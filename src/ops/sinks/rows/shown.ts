/** Converts sinks for the API, the command line and the thread that delivers. */

import type { SinkConfig } from "../../../follow/sinks/config.ts";
import type { SinkState } from "../../../follow/sinks/delivery.ts";
import { showTime, showTimeOrNull } from "../../../ids.ts";
import type { SinkKey, SinkRecord } from "./sinks.ts";

/** Returns the stored state of a sink, for a process that does not deliver to it. */
export const stateOf = ({ id, position, deliveredAt, lastError }: SinkRecord): SinkState => ({
  id,
  position,
  deliveredAt,
  lastError,
  lag: null,
  isFailing: lastError !== null && lastError.isPartial !== true,
  delivered: 0,
  failed: 0,
});

/** Returns a sink without its secrets. */
export function shownSink(sink: SinkRecord, state: SinkState) {
  const { position, lag, isFailing, deliveredAt, lastError } = state;
  const { id, type, url, format, filter, includeDetails, start, enabled, ca, clientCertificate } = sink;
  return {
    id,
    type,
    url,
    format,
    filter,
    include_details: includeDetails,
    start,
    enabled,
    ca,
    client_certificate: clientCertificate,
    created_at: showTime(sink.createdAt),
    created_by: sink.createdBy,
    state: !enabled ? "disabled" : isFailing ? "failing" : "ok",
    position,
    lag,
    last_delivery_at: showTimeOrNull(deliveredAt),
    last_error: lastError && { at: showTime(lastError.at), message: lastError.message },
  };
}

/** Returns a sink with its secrets, for the thread that delivers. @throws {KeyUnusable} */
export function sinkConfig(sink: SinkRecord, key: SinkKey): SinkConfig {
  const { id, workspaceId, type, url, format, filter, includeDetails, start, ca, clientCertificate } = sink;
  const settings = { id, workspaceId, type, url, format, filter, includeDetails, start, ca, clientCertificate };
  return { ...settings, ...key.decrypt(sink) };
}
