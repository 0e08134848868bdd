/**
 * The workspaces that one thread has open. They are opened on first use, and closed when idle or when there are too
 * many.
 */
import { identityOf } from "../../store/checkpoint.ts";
import { hasDescriptors, untilDescriptors } from "../../store/spare-descriptors.ts";
import { nextTurn } from "../../timer.ts";

/** A resource, such as a connection, that is open for one workspace. */
export interface Closable {
  close(): void;
  /** Does the long part of closing in steps, so that other workspaces of the thread have turns. */
  settle?(): Promise<void>;
}

interface Held<T> {
  resource: T;
  /** The file's device and inode. */
  file: string | null;
  usedAtMs: number;
  /** The number of callers that use it now. */
  users: number;
}

export class OpenWorkspaces<T extends Closable> {
  /** The open workspaces in order of last use, the oldest first. */
  readonly #held = new Map<string, Held<T>>();
  /** Workspaces that are being opened. */
  readonly #opening = new Set<string>();
  /** Connections that are not used any more but stay open, by workspace; see {@link setAside}. */
  readonly #setAside = new Map<string, T>();

  constructor(
    readonly open: (workspaceId: string) => T,
    readonly limits: { maxOpen: number; idleMs: number },
    /**
     * Returns the path of a workspace's file. When the path has another file than the one that is open, it is opened
     * instead.
     */
    readonly path: (workspaceId: string) => string,
    /** Called while there are no descriptors to open a workspace. */
    readonly onNoDescriptors: () => void = () => {},
    /** Work that must be done before {@link open} and takes time. */
    readonly prepare: ((workspaceId: string) => Promise<void>) | null = null,
  ) {}

  /**
   * Runs `work` with a workspace, and opens it first if necessary. The workspace stays open until the work ends, even
   * when the work yields and others are opened.
   * @throws what opening and `work` throw
   */
  async use<R>(workspaceId: string, nowMs: number, work: (resource: T) => R | Promise<R>): Promise<R> {
    if (this.prepare !== null && !this.#isCurrent(workspaceId)) await this.prepare(workspaceId);
    const held = this.#held.has(workspaceId)
      ? this.#hold(workspaceId, nowMs)
      : await this.#openInTurns(workspaceId, nowMs);
    held.users++;
    try {
      return await work(held.resource);
    } finally {
      held.users--;
    }
  }

  /** Whether a workspace is being used, or opened. */
  isInUse(workspaceId: string): boolean {
    return this.#opening.has(workspaceId) || (this.#held.get(workspaceId)?.users ?? 0) > 0;
  }

  #isCurrent(workspaceId: string): boolean {
    const held = this.#held.get(workspaceId);
    return held !== undefined && held.file === identityOf(this.path(workspaceId));
  }

  /** Opens a workspace. First does the long part of closing the one that has to make room for it. */
  async #openInTurns(workspaceId: string, nowMs: number): Promise<Held<T>> {
    this.#opening.add(workspaceId);
    try {
      const oldest = this.#held.size < this.limits.maxOpen ? undefined : this.#oldest(workspaceId);
      if (oldest !== undefined) await this.#settle(oldest);
      return await this.#holdPatiently(workspaceId, nowMs);
    } finally {
      this.#opening.delete(workspaceId);
    }
  }

  /** Returns the workspace that was not used for longest, and is not used now. */
  #oldest(except: string): string | undefined {
    return this.#held.keys().find((id) => id !== except && !this.isInUse(id));
  }

  /** Opens a workspace as soon as there are descriptors: without them, its file would seem damaged. */
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
      // The file was removed or replaced, so writes to the open one would be lost.
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
      const oldest = this.#oldest(workspaceId);
      if (oldest !== undefined) this.drop(oldest);
    }
    return opened;
  }

  /** Closes a workspace, so that its next use opens it again. */
  drop(workspaceId: string): void {
    const held = this.#held.get(workspaceId);
    this.#held.delete(workspaceId);
    held?.resource.close();
  }

  /**
   * Sets aside a workspace whose disk has failed: its next use opens a new connection, and this one stays open until
   * {@link release}. If the last connection to the file were closed, SQLite would forget where the valid part of the
   * write-ahead log ends, and the next connection would take refused transactions after that end for committed. Also, a
   * file that is first opened while its disk refuses writes cannot be written until all connections are closed. One
   * open connection prevents both, so a second one of the same workspace is closed, as are those beyond the limit.
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

  /** Closes a connection that was set aside; to be called after another connection has written to the file. */
  release(workspaceId: string): void {
    const resource = this.#setAside.get(workspaceId);
    this.#setAside.delete(workspaceId);
    resource?.close();
  }

  /** Returns the workspaces that {@link closeIdle} would close. */
  idle(nowMs: number): string[] {
    return [...this.#held]
      .filter(([, { usedAtMs, users }]) => users === 0 && Math.abs(nowMs - usedAtMs) > this.limits.idleMs)
      .map(([workspaceId]) => workspaceId);
  }

  /** Closes idle workspaces. @param pause awaited after each */
  async closeIdle(nowMs: number, pause: () => Promise<void> = nextTurn): Promise<void> {
    for (let [next] = this.idle(nowMs); next !== undefined; [next] = this.idle(nowMs)) {
      await this.#settle(next);
      this.drop(next);
      await pause();
    }
  }

  /** Prepares a workspace for being closed. Nobody else uses it meanwhile. */
  async #settle(workspaceId: string): Promise<void> {
    const held = this.#held.get(workspaceId);
    if (held?.resource.settle === undefined) return;
    held.users++;
    try {
      await held.resource.settle();
    } finally {
      held.users--;
    }
  }

  /** Closes all workspaces except those that are set aside. */
  closeAll(): void {
    for (const workspaceId of this.ids()) this.drop(workspaceId);
  }

  /** Closes all workspaces, including those that are set aside. */
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

  /** Yields what is open and not set aside. */
  *resources(): Generator<T, void> {
    for (const { resource } of this.#held.values()) yield resource;
  }

  ids(): string[] {
    return [...this.#held.keys()];
  }
}
