/**
 * Sinks in the daemon: which workspaces the delivery thread follows, and what it reports. The positions of sinks are
 * written to the workspaces' files about every second; after a crash, events that were delivered since then are
 * delivered again.
 */

import { systemPrincipal } from "../../core/writer/contract.ts";
import type { Ownership } from "../../engine-libsql/nodes/ownership.ts";
import { messageOf } from "../../failure.ts";
import { Follower, UNTIL_WOKEN } from "../../follower.ts";
import { sinkWorkspaces } from "../../ops/directory/directory.ts";
import type { Installation } from "../../ops/directory/installation.ts";
import type { SinkPlaces, SinkProgress } from "../../sink.ts";
import type { SinkLag } from "../metrics/sinks.ts";
import type { WorkspacePool } from "../threads/pool.ts";
import type { ReportedSink } from "../threads/sinks/messages.ts";
import type { SinkThread } from "../threads/sinks/thread.ts";
import type { Logger } from "./logger.ts";

/** How often positions are written and changes by other processes are checked for, ms. */
const TICK_MS = 1_000;

interface SinksParts {
  installation: Installation;
  pool: WorkspacePool;
  logger: Logger;
  /** Only one node delivers the events of a workspace. */
  ownership: Ownership;
  places: SinkPlaces;
}

export class Sinks implements AsyncDisposable {
  readonly #parts: SinksParts;
  /** Writes the positions some time after the first of them has moved. */
  readonly #writing: Follower;
  /** Keeps up with the index, with what other processes change in it, and with the workspaces of this node. */
  readonly #keepingUp: Follower;
  /** The thread that delivers; null before the first sink. */
  #thread: SinkThread | null = null;
  #places: SinkPlaces;
  /** The index, as far as it was read: the workspaces with sinks, and how often these have changed. */
  #index: ReadonlyMap<string, number> = new Map();
  /** What must still be noted in the index: whether the workspace has sinks. */
  readonly #unnoted = new Map<string, boolean>();
  readonly #states = new Map<string, ReportedSink>();
  readonly #unwritten = new Set<string>();
  #generation: number;
  /** The workspaces with sinks that this node serves; null when there are no other nodes. */
  #owned: ReadonlySet<string> | null;

  constructor(parts: SinksParts) {
    const { installation, ownership } = parts;
    this.#parts = parts;
    this.#places = parts.places;
    this.#generation = installation.generation.current;
    this.#owned = ownership.owned === null ? null : new Set();
    const failed = (error: unknown) =>
      parts.logger.error("cannot keep up with the sinks", { reason: messageOf(error) });
    this.#writing = new Follower({ step: async () => this.#write(), failed });
    this.#keepingUp = new Follower({ step: () => this.#keepUp(), failed });
  }

  /** Begins to deliver. The installation must have been made. */
  start(): void {
    this.#index = sinkWorkspaces(this.#parts.installation.connection);
    this.#follow();
    this.#keepingUp.wake(TICK_MS);
  }

  /** Changes the allowed receivers. */
  allow(places: SinkPlaces): void {
    this.#places = places;
    this.#thread?.follow();
  }

  /** The state of each sink. */
  get lags(): SinkLag[] {
    return [...this.#states.values()];
  }

  /** Handles a report of a workspace's thread that sinks may have changed. @param some whether there are any */
  notice(workspaceId: string, some: boolean): void {
    const isKnown = this.#index.has(workspaceId);
    if (!some && !isKnown) return;
    if (some !== isKnown) {
      this.#unnoted.set(workspaceId, some);
      this.#index = new Map([...this.#index, [workspaceId, 0]]);
      this.#follow();
      this.#keepingUp.wake();
    }
    this.#thread?.look(workspaceId);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#keepingUp.end();
    await this.#thread?.close();
    await this.#writing.end();
    this.#write();
  }

  /** Has the thread follow the workspaces of the index that this node serves. */
  #follow(): void {
    this.#thread?.follow();
    if (this.#thread !== null || this.#served().length === 0) return;
    this.#thread = this.#parts.pool.startSinks(
      {
        onState: (state) => this.#note(state),
        onEnded: (sinkIds) => this.#end(sinkIds),
        onGone: (workspaceId, sinkId) => void this.#switchOff(workspaceId, sinkId),
      },
      () => ({ workspaceIds: this.#served(), places: this.#places }),
    );
  }

  #served(): string[] {
    return [...this.#index.keys()].filter((workspaceId) => this.#owned?.has(workspaceId) ?? true);
  }

  #note(state: ReportedSink): void {
    const before = this.#states.get(state.id);
    this.#states.set(state.id, state);
    if (before === undefined ? state.delivered + state.failed > 0 : hasMoved(before, state)) {
      this.#unwritten.add(state.id);
      this.#writing.wake(TICK_MS);
    }
    if (before?.isFailing === state.isFailing || (before === undefined && !state.isFailing)) return;
    const { logger } = this.#parts;
    if (state.isFailing) logger.warn("a sink fails", { sink: state.id, reason: state.lastError?.message ?? "" });
    else logger.info("a sink is delivered to again", { sink: state.id, position: state.position });
  }

  #end(sinkIds: readonly string[]): void {
    this.#write();
    for (const id of sinkIds) this.#states.delete(id);
  }

  /** Switches a sink off whose receiver responded that it is gone (410). */
  async #switchOff(workspaceId: string, sinkId: string): Promise<void> {
    const input = { sinkId, change: { enabled: false } };
    const { pool, logger } = this.#parts;
    const { answer } = await pool.perform({ name: "sink.change", input, principal: systemPrincipal(workspaceId) });
    if (answer.kind !== "problem" || answer.code === "sink_not_found") return;
    logger.error("a sink cannot be switched off", { sink: sinkId, reason: answer.detail });
  }

  async #keepUp(): Promise<number> {
    await this.#noteIndex();
    this.#readIndex();
    await this.#followOwnership();
    this.#keepingUp.recovered();
    return TICK_MS;
  }

  async #noteIndex(): Promise<void> {
    for (const [workspaceId, some] of [...this.#unnoted]) {
      await this.#parts.pool.note(this.#parts.installation.id, { kind: "sinks", workspaceId, some });
      if (this.#unnoted.get(workspaceId) === some) this.#unnoted.delete(workspaceId);
    }
  }

  /** Reads the index again if another process has changed it. */
  #readIndex(): void {
    const { installation, pool, ownership } = this.#parts;
    const generation = installation.generation.current;
    if (generation === this.#generation) return;
    // The generation is read before the index, so that a change in between shows as another generation.
    this.#generation = generation;
    const before = this.#index;
    this.#index = sinkWorkspaces(installation.connection);
    this.#follow();
    for (const [workspaceId, changes] of this.#index) {
      if (before.get(workspaceId) === changes) continue;
      // On a node, a sweep brings the working copy up to date, which the delivery reads.
      if (ownership.owned !== null && this.#owned?.has(workspaceId)) pool.sweep([workspaceId]);
      this.#thread?.look(workspaceId);
    }
  }

  /** Follows the workspaces that this node serves now, from the positions of the previous nodes. */
  async #followOwnership(): Promise<void> {
    const { ownership, pool } = this.#parts;
    if (ownership.owned === null) return;
    const owned = await ownership.owned([...this.#index.keys()]);
    const before = this.#owned ?? new Set();
    const begun = [...owned].filter((workspaceId) => !before.has(workspaceId));
    if (begun.length === 0 && owned.size === before.size) return;
    this.#owned = owned;
    // A sweep opens the working copies, which the delivery reads.
    pool.sweep(begun);
    this.#follow();
  }

  #write(): number {
    const states = [...this.#unwritten].flatMap((id) => this.#states.get(id) ?? []);
    this.#unwritten.clear();
    for (const [workspaceId, positions] of Map.groupBy(states, (state) => state.workspaceId)) {
      this.#parts.pool.storePositions(workspaceId, positions.map(progressOf));
    }
    return UNTIL_WOKEN;
  }
}

const progressOf = ({ id, position, deliveredAt, lastError }: ReportedSink) => ({
  ...{ id, position, deliveredAt, lastError },
});

/** Whether something changed that is stored. */
const hasMoved = (before: SinkProgress, { position, deliveredAt, lastError }: SinkProgress): boolean =>
  before.position !== position || before.deliveredAt !== deliveredAt || before.lastError?.at !== lastError?.at;
