/** The workspaces whose files cannot be used just now. The other workspaces are not affected. */
import { isOfDisk, type StorageTrouble } from "../../core/writer/storage-failure.ts";

interface UnavailableWorkspace {
  workspaceId: string;
  /** The class and code of the error, without data. */
  reason: string;
  trouble: StorageTrouble;
  /** When the trouble began, ms since the Unix epoch. */
  sinceMs: number;
}

/** Who is told of them. */
export interface TroubleEvents {
  /** Called when a workspace's file cannot be used, and when it has recovered. */
  onDown?(workspace: UnavailableWorkspace): void;
  onUp?(workspaceId: string): void;
  /** Called when a workspace cannot be written, and again whenever the reason changes. */
  onStorage?(workspaceId: string, trouble: StorageTrouble): void;
}

/** The most workspaces that are listed. */
const MOST = 1_000;

/** By id, the longest unavailable first. */
export class UnavailableWorkspaces extends Map<string, UnavailableWorkspace> {
  constructor(
    private readonly events: TroubleEvents,
    private readonly clock: () => number,
  ) {
    super();
  }

  /** Whether the disk refuses writes. A damaged file does not count, since it affects only its own workspace. */
  get diskFails(): boolean {
    return this.values().some(({ trouble }) => isOfDisk(trouble));
  }

  /** Notes what a thread reports of a workspace. Without a reason, it has recovered or can still be read. */
  note(workspaceId: string, reason: string | null, trouble: StorageTrouble | null): void {
    if (trouble !== null) this.events.onStorage?.(workspaceId, trouble);
    if (reason === null || trouble === null) {
      if (this.delete(workspaceId)) this.events.onUp?.(workspaceId);
      return;
    }
    const known = this.get(workspaceId);
    if (known === undefined && this.size >= MOST) return;
    const workspace = { workspaceId, reason, trouble, sinceMs: known?.sinceMs ?? this.clock() };
    this.set(workspaceId, workspace);
    if (known === undefined) this.events.onDown?.(workspace);
  }
}
