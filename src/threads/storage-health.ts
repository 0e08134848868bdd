/** Which workspaces of a thread cannot be used just now, why, and when they are tried again. */
import { type StorageTrouble, troubleOf } from "../workspace/storage-failure.ts";

/** A workspace whose disk failed is left alone this long: its clients are told to come back. */
const PAUSE_MS = 500;
/** A trouble that lasts is logged again after this long. */
const REPORT_AGAIN_MS = 60_000;

/** The workspace is left alone for a moment, since it failed just now. */
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

/** Whether less than `periodMs` passed since then. A clock that was set back ends every period. */
const isWithin = (periodMs: number, sinceMs: number, nowMs: number): boolean =>
  nowMs >= sinceMs && nowMs < sinceMs + periodMs;

const isPaused = ({ trouble, failedAtMs }: Troubled, nowMs: number): boolean =>
  isWithin(pauseAfter(trouble), failedAtMs, nowMs);

export class StorageHealth {
  readonly #troubled = new Map<string, Troubled>();

  /** `onChange` is told of every new trouble, and with null that it is over. */
  constructor(
    readonly onChange: (workspaceId: string, trouble: StorageTrouble | null, error: unknown) => void,
  ) {}

  /** To be asked before a workspace is used. @throws {WorkspacePaused} while it is left alone */
  require(workspaceId: string, nowMs: number): void {
    const found = this.#troubled.get(workspaceId);
    if (found !== undefined && isPaused(found, nowMs)) throw new WorkspacePaused(found.trouble);
  }

  /** Notes a failure; answers whether the log should have it: a new trouble, or one that lasts for long. */
  failed(workspaceId: string, error: unknown, nowMs: number): boolean {
    if (error instanceof WorkspacePaused) return false;
    const trouble = troubleOf(error);
    if (trouble === null) return true;
    const before = this.#troubled.get(workspaceId);
    const report = before?.trouble !== trouble || !isWithin(REPORT_AGAIN_MS, before.reportedAtMs, nowMs);
    this.#troubled.set(workspaceId, {
      trouble,
      failedAtMs: nowMs,
      reportedAtMs: report ? nowMs : before.reportedAtMs,
    });
    if (before?.trouble !== trouble) this.onChange(workspaceId, trouble, error);
    return report;
  }

  /** Something was written to it. */
  works(workspaceId: string): void {
    if (this.#troubled.size > 0 && this.#troubled.delete(workspaceId)) this.onChange(workspaceId, null, null);
  }

  /** The first few troubled ones whose pause is over, those first that were not tried for longest. */
  toProbe(nowMs: number, count: number): string[] {
    return [...this.#troubled]
      .filter(([, troubled]) => !isPaused(troubled, nowMs))
      .sort(([, a], [, b]) => a.failedAtMs - b.failedAtMs)
      .slice(0, count)
      .map(([workspaceId]) => workspaceId);
  }
}

/**
 * On a full disk smaller writes may still find their place, and a damaged file may have been replaced meanwhile:
 * so every request tries. A disk that fails makes every try slow.
 */
const pauseAfter = (trouble: StorageTrouble): number => (trouble === "disk_failing" ? PAUSE_MS : 0);
