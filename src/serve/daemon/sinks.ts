/**
 * Sinks in the daemon: requests about sinks, and the messages to and from the thread that delivers. The positions of
 * all sinks are written to the control database about every second, in one transaction; after a crash, events that were
 * delivered since then are delivered again.
 */

import type { DataDirectory } from "../../core/datadir/layout.ts";
import {
  type OperationRequest,
  problem,
  type Reply,
  refusal,
  unrecorded,
  type WorkspaceClient,
} from "../../core/writer/contract.ts";
import type { Ownership } from "../../engine-libsql/nodes/ownership.ts";
import { Failure, messageOf } from "../../failure.ts";
import type { SinkConfig } from "../../follow/sinks/config.ts";
import type { SinkState } from "../../follow/sinks/delivery.ts";
import type { RandomPool } from "../../ids.ts";
import { SYSTEM } from "../../log/event.ts";
import { isAct, type OperationInputs, type ReportName } from "../../operations.ts";
import type { ActParts } from "../../ops/directory/acts.ts";
import {
  changeSink,
  createSink,
  recordTest,
  removeSink,
  requireSink,
  rotateSink,
  type SinkActParts,
  type SinkDone,
} from "../../ops/sinks/rows/acts.ts";
import { shownSink, sinkConfig, stateOf } from "../../ops/sinks/rows/shown.ts";
import { findSink, listSinks, SinkKey, type SinkRecord, storeProgress } from "../../ops/sinks/rows/sinks.ts";
import { Problem } from "../../problem.ts";
import type { SinkPlaces, SinkProgress } from "../../sink.ts";
import type { SinkLag } from "../metrics/sinks.ts";
import type { WorkspacePool } from "../threads/pool.ts";
import type { SinkRun } from "../threads/sinks/messages.ts";
import type { SinkThread } from "../threads/sinks/thread.ts";
import type { Logger } from "./logger.ts";

/** How often positions are written and changes by other processes are checked for, ms. */
const TICK_MS = 1_000;

interface SinksParts {
  acts: ActParts;
  random: RandomPool;
  directory: DataDirectory;
  pool: WorkspacePool;
  logger: Logger;
  /** Only one node delivers the events of a workspace. */
  ownership: Ownership;
  places: SinkPlaces;
}

export class Sinks implements AsyncDisposable {
  readonly #parts: SinksParts;
  readonly #key: SinkKey;
  readonly #timer: NodeJS.Timeout;
  /** The thread that delivers; null before the first sink. */
  #thread: SinkThread | null = null;
  #places: SinkPlaces;
  #runs: readonly SinkRun[] = [];
  #idle: readonly SinkRecord[] = [];
  readonly #states = new Map<string, SinkState>();
  readonly #unwritten = new Set<string>();
  #generation: number;
  /** The workspaces that this node serves; null when there are no other nodes. */
  #owned: ReadonlySet<string> | null;

  constructor(parts: SinksParts) {
    this.#parts = parts;
    this.#places = parts.places;
    this.#key = new SinkKey(parts.directory);
    this.#generation = parts.acts.control.generation.current;
    this.#owned = parts.ownership.owned === null ? null : new Set();
    this.#follow();
    this.#timer = setInterval(() => void this.#tick(), TICK_MS);
    this.#timer.unref();
  }

  /** Changes the allowed receivers. */
  allow(places: SinkPlaces): void {
    this.#places = places;
    this.#thread?.follow();
  }

  /** The state of each sink. */
  get lags(): SinkLag[] {
    return listSinks(this.#parts.acts.control.connection).map((sink) => ({
      ...this.#stateOf(sink),
      isDisabled: !sink.enabled,
    }));
  }

  /** Returns a client of the workspaces that also answers requests about sinks. */
  around(workspaces: WorkspaceClient): WorkspaceClient {
    return {
      perform: (request) =>
        isAct(request.name) || REPORTS.has(request.name) ? this.#answer(request) : workspaces.perform(request),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.#thread?.close();
    await this.#write();
  }

  async #answer(request: OperationRequest): Promise<Reply<never>> {
    try {
      return await this.#perform(request);
    } catch (error) {
      if (error instanceof Problem) return refusal(error);
      if (error instanceof Failure && error.code === "busy") return problem("unavailable", error.message);
      if (error instanceof Failure && error.code === "outcome_unknown") return problem(error.code, error.message);
      throw error;
    }
  }

  async #perform({ name, input, principal, via }: OperationRequest): Promise<Reply<never>> {
    const { actor, workspaceId } = principal;
    const by = { actor, workspaceId };
    const parts = { ...this.#actParts(), ...(via && { via }) };
    const { connection } = parts.control;
    switch (name) {
      case "sink.list":
        return shown(200, { data: listSinks(connection, workspaceId).map((sink) => this.#show(sink)) });
      case "sink.read":
        return shown(200, this.#show(requireSink(parts, by, sinkIdOf(input))));
      case "sink.create":
        return this.#changed(201, await createSink(parts, by, input as OperationInputs["sink.create"]));
      case "sink.change": {
        const { sinkId, change } = input as OperationInputs["sink.change"];
        return this.#changed(200, await changeSink(parts, by, sinkId, change));
      }
      case "sink.rotate":
        return this.#changed(200, await rotateSink(parts, by, sinkIdOf(input)));
      case "sink.remove": {
        const done = await removeSink(parts, by, sinkIdOf(input));
        this.#changed(200, done);
        return { ...shown(200, { deleted: 1, audit_id: done.auditId }), auditId: done.auditId };
      }
      case "sink.test":
        return this.#test(await recordTest(parts, by, sinkIdOf(input)));
      default:
        throw new Error(`${name} is not about sinks`);
    }
  }

  /** Updates the deliveries after a change, and returns the answer to the change. */
  #changed(status: number, { sink, keys, auditId }: SinkDone & { auditId: string | null }): Reply<never> {
    this.#follow();
    const current = findSink(this.#parts.acts.control.connection, sink.id) ?? sink;
    return { ...shown(status, { ...this.#show(current), ...keys, audit_id: auditId }), auditId };
  }

  async #test({ sink, auditId }: SinkDone & { auditId: string | null }): Promise<Reply<never>> {
    const error = await this.#started().test(this.#configOf(sink));
    return { ...shown(200, { delivered: error === null, message: error, audit_id: auditId }), auditId };
  }

  #actParts(): SinkActParts {
    const { acts, random } = this.#parts;
    return { ...acts, random, key: this.#key, places: this.#places };
  }

  #show(sink: SinkRecord): object {
    return shownSink(sink, this.#stateOf(sink));
  }

  /** Updates the deliveries to the sinks in the control database. */
  #follow(): void {
    const sinks = listSinks(this.#parts.acts.control.connection);
    const ids = new Set(sinks.map(({ id }) => id));
    for (const id of this.#states.keys()) if (!ids.has(id)) this.#states.delete(id);
    const isServed = ({ workspaceId }: SinkRecord) => this.#owned?.has(workspaceId) ?? true;
    const served = sinks.filter(isServed);
    this.#runs = served.filter(({ enabled }) => enabled).flatMap((sink) => this.#runOf(sink));
    const running = new Set(this.#runs.map(({ config }) => config.id));
    this.#idle = served.filter(({ id }) => !running.has(id));
    for (const sink of this.#idle) this.#states.set(sink.id, this.#stateOf(sink));
    if (this.#thread === null && served.length === 0) return;
    this.#started().follow();
  }

  #started(): SinkThread {
    this.#thread ??= this.#parts.pool.startSinks(
      {
        onState: (state) => {
          this.#note(state);
          // The last state of a delivery that was ended has the position from which the backlog is measured now.
          if (this.#idle.some(({ id }) => id === state.id)) this.#thread?.follow();
        },
        onLag: (id, lag) => this.#noteLag(id, lag),
        onGone: (id) => void this.#switchOff(id),
      },
      () => ({
        idle: this.#idle.map((sink) => {
          const { id, workspaceId, start } = sink;
          return { id, workspaceId, start, position: this.#stateOf(sink).position };
        }),
        sinks: this.#runs.map(({ config, state }) => ({ config, state: this.#states.get(config.id) ?? state })),
        places: this.#places,
      }),
    );
    return this.#thread;
  }

  /** Returns the delivery of a sink. A sink whose secrets cannot be read is marked as failing, and left out. */
  #runOf(sink: SinkRecord): SinkRun[] {
    try {
      return [{ config: this.#configOf(sink), state: stateOf(sink) }];
    } catch (error) {
      const lastError = { at: this.#parts.acts.clock(), message: "the secrets cannot be read: keys/sinks.key" };
      this.#note({ ...stateOf(sink), isFailing: true, lastError });
      this.#parts.logger.error("a sink cannot be used", { sink: sink.id, reason: messageOf(error) });
      return [];
    }
  }

  #stateOf(sink: SinkRecord): SinkState {
    return this.#states.get(sink.id) ?? stateOf(sink);
  }

  #configOf(sink: SinkRecord): SinkConfig {
    return sinkConfig(sink, this.#key);
  }

  #note(state: SinkState): void {
    const before = this.#states.get(state.id);
    this.#states.set(state.id, state);
    if (before === undefined || hasMoved(before, state)) this.#unwritten.add(state.id);
    if (before?.isFailing === state.isFailing || (before === undefined && !state.isFailing)) return;
    const { logger } = this.#parts;
    if (state.isFailing) logger.warn("a sink fails", { sink: state.id, reason: state.lastError?.message ?? "" });
    else logger.info("a sink is delivered to again", { sink: state.id, position: state.position });
  }

  #noteLag(id: string, lag: number | null): void {
    const state = this.#states.get(id);
    if (state !== undefined) this.#states.set(id, { ...state, lag });
  }

  /** Switches a sink off whose receiver responded that it is gone (410). */
  async #switchOff(id: string): Promise<void> {
    const sink = findSink(this.#parts.acts.control.connection, id);
    if (sink === undefined) return;
    try {
      await changeSink(this.#actParts(), { actor: SYSTEM, workspaceId: sink.workspaceId }, id, { enabled: false });
      this.#follow();
    } catch (error) {
      this.#parts.logger.error("a sink cannot be switched off", { sink: id, reason: messageOf(error) });
    }
  }

  async #tick(): Promise<void> {
    const { control } = this.#parts.acts;
    try {
      await this.#write();
      await this.#followOwnership();
      if (control.generation.current === this.#generation) return;
      // The generation is read before the database, so that a change in between shows as another generation.
      this.#generation = control.generation.current;
      this.#follow();
    } catch (error) {
      this.#parts.logger.error("cannot write the positions of sinks", { reason: messageOf(error) });
    }
  }

  /** Updates the deliveries to the workspaces that this node serves now, from the positions of the previous nodes. */
  async #followOwnership(): Promise<void> {
    const { ownership, acts, pool } = this.#parts;
    if (ownership.owned === null) return;
    const sinks = listSinks(acts.control.connection);
    const owned = await ownership.owned([...new Set(sinks.map(({ workspaceId }) => workspaceId))]);
    const before = this.#owned ?? new Set();
    const begun = [...owned].filter((workspaceId) => !before.has(workspaceId));
    if (begun.length === 0 && owned.size === before.size) return;
    this.#owned = owned;
    for (const { id, workspaceId } of sinks) if (!owned.has(workspaceId)) this.#states.delete(id);
    // A sweep opens the working copies, which the delivery reads.
    pool.sweep(begun);
    this.#follow();
  }

  async #write(): Promise<void> {
    const { control } = this.#parts.acts;
    if (this.#unwritten.size === 0 || control.isReplaced) return;
    const written = [...this.#unwritten];
    this.#unwritten.clear();
    try {
      await control.transaction((connection) => {
        for (const id of written) {
          const state = this.#states.get(id);
          if (state !== undefined) storeProgress(connection, id, state);
        }
      });
    } catch (error) {
      for (const id of written) this.#unwritten.add(id);
      throw error;
    }
  }
}

const REPORTS: ReadonlySet<string> = new Set<ReportName>(["sink.list", "sink.read"]);

/** Whether something changed that is written to the control database. */
const hasMoved = (before: SinkProgress, { position, deliveredAt, lastError }: SinkProgress): boolean =>
  before.position !== position || before.deliveredAt !== deliveredAt || before.lastError?.at !== lastError?.at;

const sinkIdOf = (input: unknown): string => (input as { sinkId: string }).sinkId;

const shown = (status: number, body: object): Reply<never> =>
  unrecorded({ kind: "json", status, body: JSON.stringify(body) });
