/** Delivers each new seal to all targets of a daemon. */
import type { Clock } from "../../ids.ts";
import { parseWitness } from "../../log/witness.ts";
import { type AnchorEvents, type AnchorLag, AnchorQueue, type WaitingSeal } from "./queue.ts";
import { type AnchorReceipt, AnchorReceipts } from "./receipts.ts";
import { type AnchoredSeal, type AnchorKind, type AnchorTarget, commandTarget, webhookTarget } from "./targets.ts";
import { timestampTarget } from "./timestamp.ts";
import { type WitnessDeps, witnessTarget } from "./witness.ts";

/** The settings of targets. */
interface AnchorSettings {
  anchor_command: string | null;
  anchor_url: string | null;
  witnesses: readonly string[];
  timestamp_url: string | null;
}

/** What is known about one workspace's anchors at one target. */
interface AnchorState {
  kind: AnchorKind;
  place: string | null;
  /** The newest seal that the target accepted; null when none is known. */
  receipt: AnchorReceipt | null;
  /** The seal that waits for the target, or null. */
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
    targets: readonly AnchorTarget[],
    private readonly events: AnchorEvents,
    private readonly options: AnchorsOptions,
  ) {
    this.#receipts = new AnchorReceipts(options.notesDir);
    this.#queues = this.#queuesTo(targets);
  }

  /** Replaces the targets. Waiting deliveries are dropped, since newer seals will follow. */
  async replaceTargets(targets: readonly AnchorTarget[]): Promise<void> {
    const old = this.#queues;
    this.#queues = this.#queuesTo(targets);
    await end(old);
  }

  #queuesTo(targets: readonly AnchorTarget[]): AnchorQueue[] {
    const { onError, clock } = this.options;
    const onDelivered: AnchorEvents["onDelivered"] = (target, { workspaceId, size }, sealedMs, takenMs) => {
      this.#keeping = this.#receipts.keep(workspaceId, target, { size, sealedMs, takenMs }).catch(onError);
    };
    return targets.map((target) => new AnchorQueue(target, { ...this.events, onDelivered }, clock));
  }

  /** Returns the state of a workspace's anchors at each target. */
  async of(workspaceId: string): Promise<AnchorState[]> {
    if (this.#queues.length === 0) return [];
    const receipts = await this.#receipts.of(workspaceId);
    return this.#queues.map((queue) => ({
      kind: queue.target.kind,
      place: queue.target.place,
      receipt: receipts[queue.target.name] ?? null,
      waiting: queue.waitingOf(workspaceId),
    }));
  }

  /** The backlog of each target. */
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

export function targetsOf(settings: AnchorSettings, deps: WitnessDeps): AnchorTarget[] {
  return [
    ...(settings.anchor_command === null ? [] : [commandTarget(settings.anchor_command)]),
    ...(settings.anchor_url === null ? [] : [webhookTarget(settings.anchor_url)]),
    ...settings.witnesses.map((witness) => witnessTarget(parseWitness(witness), deps)),
    ...(settings.timestamp_url === null ? [] : [timestampTarget(settings.timestamp_url, deps.keep)]),
  ];
}
