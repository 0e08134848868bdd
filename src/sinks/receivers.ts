/** The receivers of sinks, by type. */
import type { SinkType } from "../sink.ts";
import { linesOf } from "./batch.ts";
import type { SinkConfig } from "./config.ts";
import { appendTo } from "./file.ts";
import { post } from "./https.ts";
import type { Line } from "./lines.ts";
import { logRequest, rejectedBy } from "./otlp.ts";
import type { Receiver, ReceiverDeps } from "./receiver.ts";
import { signatureHeaders } from "./signature.ts";
import { SyslogReceiver } from "./syslog.ts";

/** Returns the receiver of a sink. */
export const receiverOf = (sink: SinkConfig, deps: ReceiverDeps): Receiver => RECEIVERS[sink.type](sink, deps);

/** Returns a receiver that keeps nothing open between messages. */
const stateless = (send: Receiver["send"]): Receiver => ({ send, [Symbol.dispose]() {} });

const RECEIVERS: Record<SinkType, (sink: SinkConfig, deps: ReceiverDeps) => Receiver> = {
  webhook: (sink, deps) =>
    stateless(async (message, signal) => {
      const { id } = message;
      const texts = linesOf(message).map(({ text }) => text);
      const body = Buffer.from(`${texts.join("\n")}\n`);
      const signed = signatureHeaders(sink.signing, id, body, deps.clock());
      await post(sink, { "content-type": "application/x-ndjson", ...signed }, body, deps, signal);
      return null;
    }),
  syslog: (sink, deps) => new SyslogReceiver(sink, deps),
  otlp: (sink, deps) =>
    stateless(async (message, signal) => {
      const authorization = sink.token === null ? {} : { authorization: `Bearer ${sink.token}` };
      const headers = { "content-type": "application/json", ...authorization };
      const body = Buffer.from(logRequest(sink.workspaceId, linesOf(message), deps.clock()));
      return rejectedBy(await post(sink, headers, body, deps, signal));
    }),
  splunk_hec: (sink, deps) =>
    stateless(async (message, signal) => {
      const headers = { "content-type": "application/json", authorization: `Splunk ${sink.token}` };
      await post(sink, headers, Buffer.from(hecEvents(sink, linesOf(message))), deps, signal);
      return null;
    }),
  file: (sink, deps) =>
    stateless(async (message) => {
      await appendTo(deps.directory, sink.url, message);
      return null;
    }),
};

/** Returns events in the form of Splunk's HTTP Event Collector: one JSON object after another. */
function hecEvents({ workspaceId, format }: SinkConfig, lines: readonly Line[]): string {
  const about = `"source":"${workspaceId}","sourcetype":"governd:${format}"`;
  return lines.map(({ atMs, text }) => `{"time":${(atMs / 1_000).toFixed(3)},${about},"event":${text}}`).join("\n");
}
