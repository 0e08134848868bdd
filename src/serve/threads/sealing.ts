/** Seals the workspaces of a thread when they are due. */

import { SealSchedule } from "../../core/seals/schedule.ts";
import type { Clock } from "../../ids.ts";
import type { Timer } from "../../timer.ts";
import type { CircuitBreaker, OpenWriter } from "./circuit-breaker.ts";
import type { ThreadGauges } from "./gauges.ts";
import type { OpenWorkspaces } from "./open-workspaces.ts";

/** How long to wait before another attempt to seal a workspace, ms. */
const RETRY_MS = 60_000;
/** How long sealing may take when the daemon stops, ms. Other workspaces are sealed at the next start. */
const LAST_SEALS_MS = 4_000;

interface SealingParts {
  intervalMs: number;
  workspaces: OpenWorkspaces<OpenWriter>;
  breaker: CircuitBreaker;
  gauges: ThreadGauges;
  clock: Clock;
  timer: Timer;
  /** Queues work, which runs when the thread does nothing else. */
  enqueue(work: () => Promise<void>): void;
  /** Runs waiting operations, and releases the files of closed workspaces. */
  giveWay(): Promise<void>;
}

export class Sealing {
  readonly #schedule: SealSchedule;

  constructor(private readonly parts: SealingParts) {
    const { clock, enqueue, intervalMs, timer } = parts;
    const onDue = () => enqueue(() => this.#sealAll(this.#schedule.takeDue(clock())));
    this.#schedule = new SealSchedule(intervalMs, onDue, timer);
  }

  /**
   * Changes the time from the first unsealed event to its seal, ms. Workspaces that are scheduled already keep theirs.
   */
  useInterval(intervalMs: number): void {
    this.#schedule.intervalMs = intervalMs;
  }

  /** Schedules a workspace if it has events that no seal covers. */
  note(workspaceId: string, { writer }: OpenWriter): void {
    if (writer.unsealed) this.#schedule.note(workspaceId, this.parts.clock());
    this.#gauge();
  }

  /** Seals the workspaces among these that are scheduled. */
  sealScheduled(workspaceIds: readonly string[]): Promise<void> {
    return this.#sealAll(workspaceIds.filter((workspaceId) => this.#schedule.has(workspaceId)));
  }

  /** Stops the schedule, and seals the scheduled workspaces within {@link LAST_SEALS_MS}. */
  end(): Promise<void> {
    return this.#sealAll(this.#schedule.end(), this.parts.clock() + LAST_SEALS_MS);
  }

  /** Seals workspaces one after another, until `untilMs`. */
  async #sealAll(workspaceIds: readonly string[], untilMs = Number.POSITIVE_INFINITY): Promise<void> {
    const { breaker, clock, gauges, giveWay, workspaces } = this.parts;
    for (const workspaceId of workspaceIds) {
      if (clock() > untilMs) return;
      const wasOpen = workspaces.has(workspaceId);
      try {
        await breaker.use(workspaceId, ({ writer }) => writer.seal());
        this.#schedule.remove(workspaceId);
        if (!wasOpen) workspaces.drop(workspaceId);
      } catch (error) {
        this.#schedule.note(workspaceId, clock(), RETRY_MS);
        gauges.increment("sealFailures");
        breaker.fail(workspaceId, `sealing ${workspaceId}`, error);
      }
      await giveWay();
    }
    this.#gauge();
  }

  /** Updates the gauges of unsealed workspaces. */
  #gauge(): void {
    const { workspaces, sinceMs } = this.#schedule.unsealed;
    this.parts.gauges.set("unsealedWorkspaces", workspaces);
    this.parts.gauges.set("unsealedSinceMs", sinceMs);
  }
}
