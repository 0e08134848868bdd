/** Seals the workspaces of a thread, each some time after its first unsealed event. */

import { type Around, Follower, UNTIL_WOKEN } from "../../follower.ts";
import type { Clock } from "../../ids.ts";
import type { CircuitBreaker, OpenWriter } from "./circuit-breaker.ts";
import type { ThreadGauges } from "./gauges.ts";
import type { OpenWorkspaces } from "./open-workspaces.ts";

/** How long sealing may take when the daemon stops, ms. Other workspaces are sealed at the next start. */
const LAST_SEALS_MS = 4_000;

interface SealingParts {
  /** The time from the first unsealed event of a workspace to its seal, ms. Changed, it holds for what is noted later. */
  intervalMs: number;
  workspaces: OpenWorkspaces<OpenWriter>;
  breaker: CircuitBreaker;
  gauges: ThreadGauges;
  clock: Clock;
  around: Around;
  /** Runs work when the thread does nothing else. */
  run(work: () => Promise<void>): Promise<void>;
  /** Runs waiting operations, and releases the files of closed workspaces. */
  giveWay(): Promise<void>;
}

export class Sealing {
  /** The workspaces with unsealed events, the longest waiting first, and since when they have them, ms since the epoch. */
  readonly #unsealed = new Map<string, { follower: Follower; sinceMs: number }>();

  constructor(private readonly parts: SealingParts) {}

  useInterval(intervalMs: number): void {
    this.parts.intervalMs = intervalMs;
  }

  /** Schedules a workspace if it has events that no seal covers. */
  note(workspaceId: string, { writer }: OpenWriter): void {
    if (writer.unsealed && !this.#unsealed.has(workspaceId)) this.#follow(workspaceId);
    this.#gauge();
  }

  /** Seals the workspaces among these that are scheduled. */
  sealScheduled(workspaceIds: readonly string[]): Promise<void> {
    return this.#sealAll(workspaceIds.filter((workspaceId) => this.#unsealed.has(workspaceId)));
  }

  /** Stops the schedule, and seals the scheduled workspaces within {@link LAST_SEALS_MS}. */
  end(): Promise<void> {
    // A step that runs waits for this one.
    for (const { follower } of this.#unsealed.values()) void follower.end();
    return this.#sealAll([...this.#unsealed.keys()], this.parts.clock() + LAST_SEALS_MS);
  }

  #follow(workspaceId: string): void {
    const { around, clock, giveWay, intervalMs, run } = this.parts;
    const step = async (signal: AbortSignal) => {
      await run(async () => {
        if (signal.aborted) return;
        await this.#seal(workspaceId).finally(giveWay);
      });
      return UNTIL_WOKEN;
    };
    const follower = new Follower({ step, failed: (error) => this.#failed(workspaceId, error) }, around);
    this.#unsealed.set(workspaceId, { follower, sinceMs: clock() });
    follower.wake(intervalMs);
  }

  async #seal(workspaceId: string): Promise<void> {
    const { breaker, workspaces } = this.parts;
    const wasOpen = workspaces.has(workspaceId);
    await breaker.use(workspaceId, ({ writer }) => writer.seal());
    void this.#unsealed.get(workspaceId)?.follower.end();
    this.#unsealed.delete(workspaceId);
    if (!wasOpen) workspaces.drop(workspaceId);
    this.#gauge();
  }

  #failed(workspaceId: string, error: unknown): void {
    this.parts.gauges.increment("sealFailures");
    this.parts.breaker.fail(workspaceId, `sealing ${workspaceId}`, error);
  }

  /** Seals workspaces one after another, until `untilMs`. */
  async #sealAll(workspaceIds: readonly string[], untilMs = Number.POSITIVE_INFINITY): Promise<void> {
    for (const workspaceId of workspaceIds) {
      if (this.parts.clock() > untilMs) return;
      await this.#seal(workspaceId).catch((error) => this.#failed(workspaceId, error));
      await this.parts.giveWay();
    }
  }

  /** Updates the gauges of unsealed workspaces. */
  #gauge(): void {
    const [{ sinceMs } = { sinceMs: 0 }] = this.#unsealed.values();
    this.parts.gauges.set("unsealedWorkspaces", this.#unsealed.size);
    this.parts.gauges.set("unsealedSinceMs", sinceMs);
  }
}
