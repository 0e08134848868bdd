/**
 * Has the root over all entries of a workspace recorded, with the first seal of each day or hour (UTC). Its position is the
 * newest event of a root: a crash in between loses nothing, since the next seal makes up for it.
 */
import { type Around, Follower, UNTIL_WOKEN } from "../follower.ts";

/** How often roots are recorded. */
export type RootPeriod = "off" | "daily" | "hourly";

const HOUR_MS = 3_600_000;
/** The length of each period, ms; null for none. */
const PERIODS: Readonly<Record<RootPeriod, number | null>> = { off: null, hourly: HOUR_MS, daily: 24 * HOUR_MS };

/**
 * What is to be recorded of a workspace now:
 * - `root`: a new root;
 * - `recorded`: nothing, since the period has one;
 * - `unchanged`: nothing, since no event through this position has changed the entries behind the newest one.
 */
export type ComputedRoot =
  | { is: "root"; seq: number; root: string; count: number }
  | { is: "recorded" }
  | { is: "unchanged"; through: number };

interface StateRootParts {
  /** Computes the root of a workspace, unless there is nothing to record. */
  compute(workspaceId: string, asked: { periodMs: number; unchangedThrough: number }): Promise<ComputedRoot>;
  record(workspaceId: string, state: { seq: number; root: string; count: number }): Promise<void>;
  clock(): number;
  failed(error: unknown, failures: number): void;
}

/** After so many failures, a workspace waits for its next seal: it may have been deleted. */
const MOST_FAILURES = 10;

/** What is known of a workspace: the period that has a root, and through which event nothing has changed since. */
interface Known {
  period: number;
  unchangedThrough: number;
}

export class StateRoots implements AsyncDisposable {
  readonly #follower: Follower;
  /** The workspaces with a new seal, the longest waiting first, each with the failures since. */
  readonly #sealed = new Map<string, number>();
  readonly #known = new Map<string, Known>();

  /** The length of a period, ms; null when no roots are recorded. */
  #periodMs: number | null;

  constructor(
    private readonly parts: StateRootParts,
    period: RootPeriod,
    around?: Around,
  ) {
    this.#periodMs = PERIODS[period];
    const failed = (error: unknown, failures: number) => parts.failed(error, failures);
    this.#follower = new Follower({ step: () => this.#step(), failed }, around);
  }

  /** Changes how often roots are recorded, from the next seals on. */
  usePeriod(period: RootPeriod): void {
    this.#periodMs = PERIODS[period];
    this.#known.clear();
  }

  /** To be called with each new seal. */
  sealed(workspaceId: string): void {
    if (this.#periodMs === null || this.#known.get(workspaceId)?.period === this.#now(this.#periodMs)) return;
    if (!this.#sealed.has(workspaceId)) this.#sealed.set(workspaceId, 0);
    this.#follower.wake();
  }

  /** Looks after one workspace. One that failed comes last in the next tries, until its next seal after many of them. */
  async #step(): Promise<number> {
    const [next] = this.#sealed;
    if (next === undefined || this.#periodMs === null) return UNTIL_WOKEN;
    const [workspaceId, failures] = next;
    this.#sealed.delete(workspaceId);
    try {
      await this.#record(workspaceId, this.#periodMs);
    } catch (error) {
      if (failures < MOST_FAILURES) this.#sealed.set(workspaceId, failures + 1);
      throw error;
    }
    this.#follower.recovered();
    return this.#sealed.size > 0 ? 0 : UNTIL_WOKEN;
  }

  async #record(workspaceId: string, periodMs: number): Promise<void> {
    const { unchangedThrough } = this.#known.get(workspaceId) ?? { unchangedThrough: -1 };
    const found = await this.parts.compute(workspaceId, { periodMs, unchangedThrough });
    if (found.is === "root") {
      const { is: _, ...state } = found;
      await this.parts.record(workspaceId, state);
    }
    this.#known.set(
      workspaceId,
      found.is === "unchanged"
        ? { period: -1, unchangedThrough: found.through }
        : { period: this.#now(periodMs), unchangedThrough: -1 },
    );
  }

  #now(periodMs: number): number {
    return Math.floor(this.parts.clock() / periodMs);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#follower.end();
  }
}
