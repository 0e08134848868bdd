/** The receivers of sinks, by type. */
import type { SinkType } from "../../sink.ts";
import { linesOf, type Message } from "./batch.ts";
import { bodyForm, bodyOf } from "./body.ts";
import type { SinkConfig } from "./config.ts";
import { appendTo } from "./file.ts";
import { post } from "./https.ts";
import { rejectedBy } from "./otlp.ts";
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
      const { contentType, body } = requestOf(sink, message, deps);
      const signed = signatureHeaders(sink.signing, message.id, body, deps.clock());
      await post(sink, { ...contentType, ...signed }, body, deps, signal);
      return null;
    }),
  syslog: (sink, deps) => new SyslogReceiver(sink, deps),
  otlp: (sink, deps) =>
    stateless(async (message, signal) => {
      const authorization = sink.token === null ? {} : { authorization: `Bearer ${sink.token}` };
      const { contentType, body } = requestOf(sink, message, deps);
      return rejectedBy(await post(sink, { ...contentType, ...authorization }, body, deps, signal));
    }),
  splunk_hec: (sink, deps) =>
    stateless(async (message, signal) => {
      const { contentType, body } = requestOf(sink, message, deps);
      await post(sink, { ...contentType, authorization: `Splunk ${sink.token}` }, body, deps, signal);
      return null;
    }),
  file: (sink, deps) =>
    stateless(async (message) => {
      await appendTo(deps.directory, sink.url, requestOf(sink, message, deps).body);
      return null;
    }),
};

/** Returns a message as the body of a request, and the header that says what it is. */
function requestOf(sink: SinkConfig, message: Message, { clock }: ReceiverDeps) {
  const form = bodyForm(sink, clock());
  return { contentType: { "content-type": form.contentType }, body: bodyOf(form, linesOf(message)) };
}
