/** The receivers of sinks, by type. */
import type { SinkType } from "../sink.ts";
import type { Message } from "./batch.ts";
import type { SinkConfig } from "./config.ts";
import { post, type ReceiverDeps } from "./https.ts";
import { signatureHeaders } from "./signature.ts";

/** Takes messages, one after another. */
export interface Receiver extends Disposable {
  /**
   * Delivers a message. Returns what the receiver did not accept of it and never will, or null.
   * @throws {SinkFailed} when it is to be sent again
   */
  send(message: Message, signal: AbortSignal): Promise<string | null>;
}

/** Returns the receiver of a sink. */
export const receiverOf = (sink: SinkConfig, deps: ReceiverDeps): Receiver => RECEIVERS[sink.type](sink, deps);

const RECEIVERS: Record<SinkType, (sink: SinkConfig, deps: ReceiverDeps) => Receiver> = {
  webhook: (sink, deps) => ({
    async send({ id, lines, position }, signal) {
      const texts = [...lines, ...(position === null ? [] : [position])].map(({ text }) => text);
      const body = Buffer.from(`${texts.join("\n")}\n`);
      const signed = signatureHeaders(sink.signing, id, body, deps.clock());
      await post(sink, { "content-type": "application/x-ndjson", ...signed }, body, deps, signal);
      return null;
    },
    [Symbol.dispose]() {},
  }),
};
