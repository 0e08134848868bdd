/** Delivers each new seal to all sinks of a daemon. */
import type { Clock } from "../../ids.ts";
import { parseWitness } from "../../log/witness.ts";
import { type AnchorEvents, type AnchorLag, AnchorQueue, type WaitingSeal } from "./queue.ts";
import { type AnchorReceipt, AnchorReceipts } from "./receipts.ts";
import { type AnchoredSeal, type AnchorKind, type AnchorSink, commandSink, webhookSink } from "./sinks.ts";
import { type WitnessDeps, witnessSink } from "./witness.ts";

/** The settings of sinks. */
interface AnchorSettings {
  anchor_command: string | null;
  anchor_url: string | null;
  witnesses: readonly string[];
}

/** What is known about one workspace's anchors at one sink. */
interface AnchorState {
  kind: AnchorKind;
  place: string | null;
  /** The newest seal that the sink accepted; null when none is known. */
  receipt: AnchorReceipt | null;
  /** The seal that waits for the sink, or null. */
  waiting: WaitingSeal | null;
}

interface AnchorsOptions {
  /** The directory for receipts of deliveries. It is created with the first one. */
  notesDir: string;
  /** Called when a receipt could not be written. */
  onError(error: unknown): void;
  clock: Clock;
}

export class Anchors implements AsyncDisposable {
  #queues: readonly AnchorQueue[];
  readonly #receipts: AnchorReceipts;
  #keeping: Promise<void> = Promise.resolve();

  constructor(
    sinks: readonly AnchorSink[],
    private readonly events: AnchorEvents,
    private readonly options: AnchorsOptions,
  ) {
    this.#receipts = new AnchorReceipts(options.notesDir);
    this.#queues = this.#queuesTo(sinks);
  }

  /** Replaces the sinks. Waiting deliveries are dropped, since newer seals will follow. */
  async replaceSinks(sinks: readonly AnchorSink[]): Promise<void> {
    const old = this.#queues;
    this.#queues = this.#queuesTo(sinks);
    await end(old);
  }

  #queuesTo(sinks: readonly AnchorSink[]): AnchorQueue[] {
    const { onError, clock } = this.options;
    const onDelivered: AnchorEvents["onDelivered"] = (sink, { workspaceId, size }, sealedMs, takenMs) => {
      this.#keeping = this.#receipts.keep(workspaceId, sink, { size, sealedMs, takenMs }).catch(onError);
    };
    return sinks.map((sink) => new AnchorQueue(sink, { ...this.events, onDelivered }, clock));
  }

  /** Returns the state of a workspace's anchors at each sink. */
  async of(workspaceId: string): Promise<AnchorState[]> {
    if (this.#queues.length === 0) return [];
    const receipts = await this.#receipts.of(workspaceId);
    return this.#queues.map((queue) => ({
      kind: queue.sink.kind,
      place: queue.sink.place,
      receipt: receipts[queue.sink.name] ?? null,
      waiting: queue.waitingOf(workspaceId),
    }));
  }

  /** The backlog of each sink. */
  get lags(): AnchorLag[] {
    return this.#queues.map(({ lag }) => lag);
  }

  offer(seal: AnchoredSeal): void {
    for (const queue of this.#queues) queue.offer(seal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await end(this.#queues);
    await this.#keeping;
  }
}

const end = (queues: readonly AnchorQueue[]) => Promise.all(queues.map((queue) => queue[Symbol.asyncDispose]()));

export function sinksOf(settings: AnchorSettings, deps: WitnessDeps): AnchorSink[] {
  return [
    ...(settings.anchor_command === null ? [] : [commandSink(settings.anchor_command)]),
    ...(settings.anchor_url === null ? [] : [webhookSink(settings.anchor_url)]),
    ...settings.witnesses.map((witness) => witnessSink(parseWitness(witness), deps)),
  ];
}
