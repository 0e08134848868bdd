/**
 * The turns of the workspaces on a thread. While the group of one workspace takes long, or waits for work outside the
 * thread, groups of other workspaces are served. While it waits and no other has work, its own next group is prepared.
 */

import type { Reply } from "../../../core/writer/contract.ts";
import type { OnReplies } from "../../../core/writer/perform.ts";
import { TimeSlice } from "../../../core/writer/time-slice.ts";
import { nextTurn } from "../../../timer.ts";
import { writeReplies } from "../reply-text.ts";
import type { BatchQueue } from "./batch-queue.ts";

/** How long other workspaces have the thread when a long operation gives way, ms. */
const TURN_MS = 10;
/**
 * A group that has not taken longer than this, ms, gives way only to workspaces whose groups usually take no longer.
 */
const SHORT_MS = 20;

interface TurnsParts<T> {
  monotonicMs(): number;
  /** Reports whether a workspace is in use, so that it cannot be served in the middle of another workspace's group. */
  isInUse(workspaceId: string): boolean;
  /** Performs a group. Calls `answer` with the replies as soon as they may be sent, unless that is only at the end. */
  perform(workspaceId: string, group: readonly T[], answer: OnReplies): Promise<Reply[]>;
  /** Takes a text of {@link writeReplies}. */
  post(text: string): void;
}

export class Turns<T extends { readonly workspaceId: string; readonly id: number }> {
  /** When each unfinished group began, ms, by workspace. */
  readonly #begun = new Map<string, number>();
  /** Resolves when the next operation arrives. */
  #arrival = Promise.withResolvers<void>();

  constructor(
    private readonly batches: BatchQueue<T>,
    private readonly parts: TurnsParts<T>,
  ) {}

  /** Must be called when an operation was added to the queue. */
  arrived(): void {
    this.#arrival.resolve();
    this.#arrival = Promise.withResolvers();
  }

  /** Serves a group that was taken from the queue. */
  async serve(workspaceId: string, group: readonly T[]): Promise<void> {
    const { monotonicMs, perform, post } = this.parts;
    const beganMs = monotonicMs();
    this.#begun.set(workspaceId, beganMs);
    let answeredMs: number | undefined;
    const answer = async (replies: readonly Reply[]) => {
      answeredMs = monotonicMs() - beganMs;
      let posted = 0;
      for (const text of writeReplies(group, replies)) {
        if (posted++ > 0) await this.giveWay(workspaceId);
        post(text);
      }
    };
    const replies = await perform(workspaceId, group, answer);
    if (answeredMs === undefined) await answer(replies);
    this.#begun.delete(workspaceId);
    this.batches.spent(workspaceId, monotonicMs() - beganMs, answeredMs);
  }

  /** Returns the slices of a workspace's work on the thread, between which other workspaces have their turns. */
  sliceOf(workspaceId: string): TimeSlice {
    const { monotonicMs } = this.parts;
    return new TimeSlice(
      monotonicMs,
      () => this.giveWay(workspaceId),
      (work) => this.serveDuring(workspaceId, work),
    );
  }

  /**
   * Serves operations that wait on workspaces that are not in use, for at most one turn, between two steps of long
   * work. `workspaceId`: the workspace of that work.
   */
  async giveWay(workspaceId?: string): Promise<void> {
    await nextTurn();
    const { monotonicMs } = this.parts;
    for (const end = monotonicMs() + TURN_MS; monotonicMs() < end; ) if (!(await this.#serveOther(workspaceId))) return;
  }

  /** Serves operations that wait on other workspaces until work outside the thread has succeeded or failed. */
  async serveDuring(workspaceId: string, work: Promise<unknown>): Promise<void> {
    let hasEnded = false;
    const end = () => {
      hasEnded = true;
    };
    const ended = work.then(end, end);
    while (!hasEnded) {
      const { promise } = this.#arrival;
      const isBusy = await this.#serveOther(workspaceId);
      // Without a turn of the event loop, the end of the work outside would not be noticed.
      await (isBusy ? nextTurn() : Promise.race([ended, promise]));
    }
  }

  /**
   * Serves a group of a workspace that is not in use. Returns false when there is none. The group of `workspaceId`
   * continues only when that group has ended, so while it has been short, it does not give way to groups that are
   * usually long.
   */
  async #serveOther(workspaceId: string | undefined): Promise<boolean> {
    const { monotonicMs, isInUse } = this.parts;
    const begunMs = workspaceId === undefined ? undefined : this.#begun.get(workspaceId);
    const mostMs = begunMs === undefined ? Number.POSITIVE_INFINITY : Math.max(SHORT_MS, monotonicMs() - begunMs);
    const next = this.batches.take((id, groupMs) => groupMs <= mostMs && !isInUse(id));
    if (next === null) return false;
    await this.serve(next.workspaceId, next.group);
    return true;
  }
}
