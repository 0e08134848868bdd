/** Schedules the sealing of workspaces, each some time after its first unsealed event. */
import { systemTimer, type Timer } from "../../timer.ts";

/** When a workspace is due to be sealed, and when that was decided, ms since the epoch. */
interface Appointment {
  notedAtMs: number;
  dueAtMs: number;
}

/** Returns the time until a workspace is due, ms. A clock that was set back must not delay it. */
const waitOf = ({ notedAtMs, dueAtMs }: Appointment, nowMs: number): number =>
  nowMs < notedAtMs ? 0 : Math.max(0, dueAtMs - nowMs);

export class SealSchedule {
  /** The scheduled workspaces. */
  readonly #due = new Map<string, Appointment>();
  /** Since when each workspace has unsealed events, the oldest first. Kept while a workspace is being sealed. */
  readonly #since = new Map<string, number>();
  #cancelTimer: (() => void) | null = null;

  /** @param onDue called when a workspace is due; it must call {@link takeDue} */
  constructor(
    /** The time from the first unsealed event of a workspace to its seal, ms. */
    public intervalMs: number,
    private readonly onDue: () => void,
    private readonly startTimer: Timer = systemTimer,
  ) {}

  /** Schedules a workspace that has unsealed events. Does nothing when it is already scheduled. */
  note(workspaceId: string, nowMs: number, afterMs = this.intervalMs): void {
    if (this.#due.has(workspaceId)) return;
    if (!this.#since.has(workspaceId)) this.#since.set(workspaceId, nowMs);
    this.#due.set(workspaceId, { notedAtMs: nowMs, dueAtMs: nowMs + afterMs });
    this.#arm(nowMs);
  }

  has(workspaceId: string): boolean {
    return this.#due.has(workspaceId);
  }

  remove(workspaceId: string): void {
    this.#due.delete(workspaceId);
    this.#since.delete(workspaceId);
  }

  /** The number of workspaces with unsealed events, and since when the first one has them; 0 when none has. */
  get unsealed(): { workspaces: number; sinceMs: number } {
    const [sinceMs = 0] = this.#since.values();
    return { workspaces: this.#since.size, sinceMs };
  }

  /** Returns the workspaces that are due, and removes them from the schedule. */
  takeDue(nowMs: number): string[] {
    this.#cancelTimer = null;
    const due = [...this.#due].filter(([, one]) => waitOf(one, nowMs) === 0).map(([workspaceId]) => workspaceId);
    for (const workspaceId of due) this.#due.delete(workspaceId);
    this.#arm(nowMs);
    return due;
  }

  /** Stops the schedule. Returns all scheduled workspaces, the longest waiting first. */
  end(): string[] {
    this.#cancelTimer?.();
    return [...this.#due.keys()];
  }

  #arm(nowMs: number): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    if (this.#due.size === 0) return;
    let waitMs = Number.POSITIVE_INFINITY;
    for (const one of this.#due.values()) waitMs = Math.min(waitMs, waitOf(one, nowMs));
    this.#cancelTimer = this.startTimer(waitMs, this.onDue);
  }
}
