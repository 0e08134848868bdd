/** All sinks of a daemon: each new seal goes to every one of them. */
import { commandSink } from "./command.ts";
import { type AnchorEvents, type AnchorLag, AnchorQueue } from "./queue.ts";
import type { AnchoredSeal, AnchorSink } from "./sink.ts";
import { webhookSink } from "./webhook.ts";
import { parseWitness, type WitnessDeps, witnessSink } from "./witness.ts";

/** What settings say about sinks. */
export interface AnchorSettings {
  anchor_command: string | null;
  anchor_url: string | null;
  witnesses: readonly string[];
}

export class Anchors implements AsyncDisposable {
  readonly #queues: readonly AnchorQueue[];

  constructor(sinks: readonly AnchorSink[], events: AnchorEvents) {
    this.#queues = sinks.map((sink) => new AnchorQueue(sink, events));
  }

  /** How far each sink is behind. */
  get lags(): AnchorLag[] {
    return this.#queues.map(({ lag }) => lag);
  }

  offer(seal: AnchoredSeal): void {
    for (const queue of this.#queues) queue.offer(seal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#queues.map((queue) => queue[Symbol.asyncDispose]()));
  }
}

export function sinksOf(settings: AnchorSettings, deps: WitnessDeps): AnchorSink[] {
  return [
    ...(settings.anchor_command === null ? [] : [commandSink(settings.anchor_command)]),
    ...(settings.anchor_url === null ? [] : [webhookSink(settings.anchor_url)]),
    ...settings.witnesses.map((witness) => witnessSink(parseWitness(witness), deps)),
  ];
}
