/**
 * The circuit breaker of a thread's workspaces. A workspace whose disk or file fails is closed, and its requests are
 * refused for a moment. Then the next request or a probe opens it and checks its log again.
 */

import type { NamedQueues } from "../../core/serial-queue.ts";
import { rewriteHead } from "../../core/writer/head.ts";
import type { WorkspaceWriter } from "../../core/writer/perform.ts";
import {
  failedWriting,
  isOfDisk,
  mustReopen,
  NEWER,
  REPLACED,
  SERVER_UNREACHABLE,
  type StorageTrouble,
  troubleOf,
} from "../../core/writer/storage-failure.ts";
import type { Clock } from "../../ids.ts";
import { releaseClosed } from "../../store/closing.ts";
import type { Connection } from "../../store/connection.ts";
import { nextTurn } from "../../timer.ts";
import { type FromWriter, failureOf, reportFailure } from "./messages.ts";
import type { Closable, OpenWorkspaces } from "./open-workspaces.ts";

/** How long the requests of a workspace are refused after its disk failed, ms. */
const PAUSE_MS = 500;
/** How often lasting trouble is logged again, ms. */
const REPORT_AGAIN_MS = 60_000;

/** The most workspaces that one probe tries. */
const PROBES_AT_ONCE = 8;

const UNREADABLE =
  "The workspace's file cannot be opened; nothing was changed. The server's log names it; `governd verify` examines it.";
const DISK_FAILS = "The disk takes no writes just now; nothing was changed. Try again shortly.";

/** A workspace that is open for writing. */
export interface OpenWriter extends Closable {
  connection: Connection;
  writer: WorkspaceWriter;
  /** Resolves when the seals are loaded, rejects when they contradict the file. The workspace is not used before. */
  ready: Promise<void>;
}

export class CircuitBreaker {
  readonly #troubles: Troubles;

  constructor(
    private readonly open: OpenWorkspaces<OpenWriter>,
    private readonly clock: Clock,
    private readonly post: (message: FromWriter) => void,
    /** The queues by workspace, for work that waits for a server; null when work never waits. */
    private readonly turns: NamedQueues | null = null,
  ) {
    this.#troubles = new Troubles((workspaceId, trouble, error) => {
      const reason = trouble === null ? null : reportFailure("", error).name;
      post({ kind: "trouble", workspaceId, reason, trouble });
    });
  }

  /**
   * Runs `work` on a workspace, and opens it first if necessary.
   * @throws what opening and `work` throw; {WorkspacePaused} just after the workspace failed
   */
  async use<R>(workspaceId: string, work: (open: OpenWriter) => Promise<R>): Promise<R> {
    this.#troubles.require(workspaceId, this.clock());
    if (this.turns !== null) return this.turns.run(workspaceId, () => this.#useNow(workspaceId, work));
    return this.#useNow(workspaceId, work);
  }

  #useNow<R>(workspaceId: string, work: (open: OpenWriter) => Promise<R>): Promise<R> {
    return this.open.use(workspaceId, this.clock(), async (open) => {
      await open.ready.catch((error) => {
        this.open.drop(workspaceId);
        throw error;
      });
      try {
        return await work(open);
      } finally {
        this.#look(workspaceId, open.writer.failure);
      }
    });
  }

  /** Runs `work` on one workspace after another, with `giveWay` between two. Failures are reported as `what`. */
  async each(
    workspaceIds: readonly string[],
    what: string,
    giveWay: () => Promise<void>,
    work: (open: OpenWriter, workspaceId: string) => Promise<void>,
  ): Promise<void> {
    for (const workspaceId of workspaceIds) {
      try {
        await this.use(workspaceId, (open) => work(open, workspaceId));
      } catch (error) {
        this.fail(workspaceId, `${what} ${workspaceId}`, error);
      }
      await giveWay();
    }
  }

  /** Ends the workspace's trouble after a commit. {@link use} does so too, but only when its work has ended. */
  committed(workspaceId: string): void {
    this.#troubles.recovered(workspaceId);
  }

  /** Updates the workspace's trouble after a transaction. @param failure null when the transaction was committed */
  #look(workspaceId: string, failure: unknown): void {
    if (failure === null) {
      this.#troubles.recovered(workspaceId);
      this.open.release(workspaceId);
    } else if (failure !== undefined && mustReopen(failure)) {
      if (failedWriting(failure)) this.open.setAside(workspaceId);
      else this.open.drop(workspaceId);
    }
  }

  /** Records a failure, and reports it to the log unless the same trouble was reported recently. */
  fail(workspaceId: string, where: string, error: unknown): void {
    if (!this.#troubles.failed(workspaceId, error, this.clock())) return;
    this.post(failureOf(where, error));
  }

  /** Writes to workspaces in trouble, so that a recovery is noticed without a request. */
  async probe(): Promise<void> {
    const due = this.#troubles.toProbe(this.clock(), PROBES_AT_ONCE);
    // A file that was opened while its disk refused writes stays read-only until its last connection is closed.
    if (due.length > 0 && releaseClosed()) await nextTurn();
    for (const workspaceId of due) {
      try {
        await this.use(workspaceId, ({ writer }) => writer.derive(async (tx) => rewriteHead(tx)));
      } catch (error) {
        this.fail(workspaceId, `opening ${workspaceId}`, error);
        const trouble = troubleOf(error);
        if (trouble === "replaced" || (trouble === "disk_failing" && !failedWriting(error)))
          this.post({ kind: "unwritable", workspaceId });
      }
    }
  }
}

/** Returns the message for clients of a workspace that could not be used. */
export function whyUnusable(error: unknown): string {
  const trouble: StorageTrouble | null = error instanceof WorkspacePaused ? error.trouble : troubleOf(error);
  if (trouble === "replaced") return REPLACED;
  if (trouble === "newer") return NEWER;
  if (trouble === "unreachable") return SERVER_UNREACHABLE;
  return trouble !== null && isOfDisk(trouble) ? DISK_FAILS : UNREADABLE;
}

/** The workspace failed a moment ago, and is not tried again yet. */
export class WorkspacePaused extends Error {
  override readonly name = "WorkspacePaused";

  constructor(readonly trouble: StorageTrouble) {
    super("the workspace failed just now");
  }
}

interface Troubled {
  trouble: StorageTrouble;
  failedAtMs: number;
  reportedAtMs: number;
}

/** Whether less than `periodMs` has passed since `sinceMs`. False when the clock was set back. */
const isWithin = (periodMs: number, sinceMs: number, nowMs: number): boolean =>
  nowMs >= sinceMs && nowMs < sinceMs + periodMs;

/**
 * Whether requests are refused without a try. Only a failing disk causes this, since each try is slow. On a full disk
 * small writes may still succeed, and a damaged file may have been replaced, so every request tries.
 */
const isPaused = ({ trouble, failedAtMs }: Troubled, nowMs: number): boolean =>
  trouble === "disk_failing" && isWithin(PAUSE_MS, failedAtMs, nowMs);

/** The workspaces in trouble, and when each may be tried again. */
export class Troubles {
  readonly #troubled = new Map<string, Troubled>();

  /** @param onChange called with every new trouble, and with null after a recovery */
  constructor(readonly onChange: (workspaceId: string, trouble: StorageTrouble | null, error: unknown) => void) {}

  /** Checks that a workspace may be tried. @throws {WorkspacePaused} just after it failed */
  require(workspaceId: string, nowMs: number): void {
    const found = this.#troubled.get(workspaceId);
    if (found !== undefined && isPaused(found, nowMs)) throw new WorkspacePaused(found.trouble);
  }

  /** Records a failure. Returns whether to log it: when the trouble is new, or was not logged for a while. */
  failed(workspaceId: string, error: unknown, nowMs: number): boolean {
    if (error instanceof WorkspacePaused) return false;
    const trouble = troubleOf(error);
    if (trouble === null) return true;
    const before = this.#troubled.get(workspaceId);
    const report = before?.trouble !== trouble || !isWithin(REPORT_AGAIN_MS, before.reportedAtMs, nowMs);
    this.#troubled.set(workspaceId, { trouble, failedAtMs: nowMs, reportedAtMs: report ? nowMs : before.reportedAtMs });
    if (before?.trouble !== trouble) this.onChange(workspaceId, trouble, error);
    return report;
  }

  /** Records that a transaction on the workspace was committed. */
  recovered(workspaceId: string): void {
    if (this.#troubled.size > 0 && this.#troubled.delete(workspaceId)) this.onChange(workspaceId, null, null);
  }

  /** Returns up to `count` workspaces in trouble whose pause is over, the longest untried first. */
  toProbe(nowMs: number, count: number): string[] {
    return [...this.#troubled]
      .filter(([, troubled]) => !isPaused(troubled, nowMs))
      .sort(([, a], [, b]) => a.failedAtMs - b.failedAtMs)
      .slice(0, count)
      .map(([workspaceId]) => workspaceId);
  }
}
