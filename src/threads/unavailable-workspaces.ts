/** The workspaces whose files cannot be used. The other workspaces are not affected. */
import type { Clock } from "../ids.ts";
import type { StorageTrouble } from "../workspace/storage-failure.ts";

/** Most workspaces that are noted. */
const MAX_KEPT = 1_000;

/** A workspace that is down. */
export interface UnavailableWorkspace {
  workspaceId: string;
  /** The class and code of the error; holds no data. */
  reason: string;
  trouble: StorageTrouble;
  /** When it began, ms since the Unix epoch. */
  sinceMs: number;
}

export class UnavailableWorkspaces {
  readonly #down = new Map<string, UnavailableWorkspace>();

  constructor(readonly clock: Clock) {}

  /** Notes that a workspace cannot be used. Returns the workspace when this is new, else null. */
  mark(workspaceId: string, reason: string, trouble: StorageTrouble): UnavailableWorkspace | null {
    const known = this.#down.get(workspaceId);
    if (known === undefined && this.#down.size >= MAX_KEPT) return null;
    const workspace = { workspaceId, reason, trouble, sinceMs: known?.sinceMs ?? this.clock() };
    this.#down.set(workspaceId, workspace);
    return known === undefined ? workspace : null;
  }

  /** Notes that a workspace has recovered. Returns whether it was down. */
  clear(workspaceId: string): boolean {
    return this.#down.delete(workspaceId);
  }

  /** Why a workspace is down; null when it is not. */
  troubleOf(workspaceId: string): StorageTrouble | null {
    return this.#down.get(workspaceId)?.trouble ?? null;
  }

  get size(): number {
    return this.#down.size;
  }

  /** The workspaces, the longest unavailable first. */
  list(): UnavailableWorkspace[] {
    return [...this.#down.values()];
  }
}
