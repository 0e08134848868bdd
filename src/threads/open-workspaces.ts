/** The workspaces that one thread has open: opened on first use, closed when idle or too many. */
import { identityOf } from "../store/checkpoint.ts";
import { hasDescriptors, untilDescriptors } from "../store/spare-descriptors.ts";
import { nextTurn } from "../timer.ts";

/** Something open on behalf of one workspace. */
export interface Closable {
  close(): void;
}

interface Held<T> {
  resource: T;
  /** Which file it is, by device and number. */
  file: string | null;
  usedAtMs: number;
  /** How much work uses it just now. */
  users: number;
}

export class OpenWorkspaces<T extends Closable> {
  /** In order of last use, the oldest first. */
  readonly #held = new Map<string, Held<T>>();
  /** Not used any more, and still open. */
  readonly #setAside = new Map<string, T>();

  constructor(
    readonly open: (workspaceId: string) => T,
    readonly limits: { maxOpen: number; idleMs: number },
    /** The path of a workspace's file. When another file is there than the one that is open, it is opened instead. */
    readonly path: (workspaceId: string) => string,
    /** Called while no descriptors are left to open one with. */
    readonly onNoDescriptors: () => void = () => {},
    /** Does what must be done before {@link open}, if that takes time. */
    readonly prepare: ((workspaceId: string) => Promise<void>) | null = null,
  ) {}

  /**
   * Runs `work` with a workspace, which is opened when it is not open and stays open meanwhile, however many others are
   * opened when the work gives way.
   * @throws what opening and the work throw
   */
  async use<R>(workspaceId: string, nowMs: number, work: (resource: T) => R | Promise<R>): Promise<R> {
    if (this.prepare !== null && !this.#isCurrent(workspaceId)) await this.prepare(workspaceId);
    const held = this.#held.has(workspaceId)
      ? this.#hold(workspaceId, nowMs)
      : await this.#holdPatiently(workspaceId, nowMs);
    held.users++;
    try {
      return await work(held.resource);
    } finally {
      held.users--;
    }
  }

  /** Whether work on a workspace has begun and not ended. */
  isInUse(workspaceId: string): boolean {
    return (this.#held.get(workspaceId)?.users ?? 0) > 0;
  }

  #isCurrent(workspaceId: string): boolean {
    const held = this.#held.get(workspaceId);
    return held !== undefined && held.file === identityOf(this.path(workspaceId));
  }

  /** Opens one as soon as there are descriptors for it: without them its file would look as if it were damaged. */
  async #holdPatiently(workspaceId: string, nowMs: number): Promise<Held<T>> {
    try {
      if (hasDescriptors()) return this.#hold(workspaceId, nowMs);
    } catch (error) {
      if (hasDescriptors()) throw error;
    }
    await untilDescriptors(this.onNoDescriptors);
    return this.#hold(workspaceId, nowMs);
  }

  #hold(workspaceId: string, nowMs: number): Held<T> {
    const held = this.#held.get(workspaceId);
    const file = identityOf(this.path(workspaceId));
    if (held !== undefined && held.file !== file) {
      // What would be written to a file that was removed or replaced would be lost.
      this.drop(workspaceId);
    } else if (held !== undefined) {
      this.#held.delete(workspaceId);
      this.#held.set(workspaceId, held);
      held.usedAtMs = nowMs;
      return held;
    }
    const opened = { resource: this.open(workspaceId), file, usedAtMs: nowMs, users: 0 };
    this.#held.set(workspaceId, opened);
    if (this.#held.size > this.limits.maxOpen) {
      const oldest = this.#held.keys().find((id) => id !== workspaceId && !this.isInUse(id));
      if (oldest !== undefined) this.drop(oldest);
    }
    return opened;
  }

  /** Closes one, so that the next use opens it again. */
  drop(workspaceId: string): void {
    const held = this.#held.get(workspaceId);
    this.#held.delete(workspaceId);
    held?.resource.close();
  }

  /**
   * Sets aside one whose disk failed: the next use opens it again, and this connection stays open until {@link
   * release}. With the last connection to a file SQLite would forget where the good part of its write-ahead log ends:
   * who opens it then takes what was refused, and lies behind that end, for committed; and a file that is opened first
   * while its disk takes no writes cannot be written until everybody has closed it. One is enough for that, so a second
   * one of a workspace is closed, as are those past the limit.
   */
  setAside(workspaceId: string): void {
    const held = this.#held.get(workspaceId);
    if (held === undefined) return;
    if (this.#setAside.has(workspaceId) || this.#setAside.size >= this.limits.maxOpen) {
      this.drop(workspaceId);
      return;
    }
    this.#held.delete(workspaceId);
    this.#setAside.set(workspaceId, held.resource);
  }

  /** Closes one that was set aside, after another connection has written to the file. */
  release(workspaceId: string): void {
    const resource = this.#setAside.get(workspaceId);
    this.#setAside.delete(workspaceId);
    resource?.close();
  }

  /** Those that {@link closeIdle} would close; using one keeps it open. */
  idle(nowMs: number): string[] {
    return [...this.#held]
      .filter(([, { usedAtMs, users }]) => users === 0 && usedAtMs + this.limits.idleMs < nowMs)
      .map(([workspaceId]) => workspaceId);
  }

  /** Calls `pause` between one and the next. */
  async closeIdle(nowMs: number, pause: () => Promise<void> = nextTurn): Promise<void> {
    for (let [next] = this.idle(nowMs); next !== undefined; [next] = this.idle(nowMs)) {
      this.drop(next);
      await pause();
    }
  }

  /** Closes all but those that are set aside. */
  closeAll(): void {
    for (const workspaceId of this.ids()) this.drop(workspaceId);
  }

  /** Closes everything, for good. */
  end(): void {
    this.closeAll();
    for (const workspaceId of [...this.#setAside.keys()]) this.release(workspaceId);
  }

  has(workspaceId: string): boolean {
    return this.#held.has(workspaceId);
  }

  get size(): number {
    return this.#held.size;
  }

  /** What is open and not set aside. */
  *resources(): Generator<T, void> {
    for (const { resource } of this.#held.values()) yield resource;
  }

  ids(): string[] {
    return [...this.#held.keys()];
  }
}
