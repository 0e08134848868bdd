/** The workspaces that one thread has open: opened on first use, closed when idle or too many. */
import { identityOf } from "../store/checkpoint.ts";

/** Something open on behalf of one workspace. */
export interface Closable {
  close(): void;
}

interface Held<T> {
  resource: T;
  /** Which file it is, by device and number. */
  file: string | null;
  usedAtMs: number;
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
  ) {}

  /**
   * The open workspace; opened if need be.
   * @throws whatever opening throws
   */
  use(workspaceId: string, nowMs: number): T {
    const held = this.#held.get(workspaceId);
    const file = identityOf(this.path(workspaceId));
    if (held !== undefined && held.file !== file) {
      // What would be written to a file that was removed or replaced would be lost.
      this.drop(workspaceId);
    } else if (held !== undefined) {
      this.#held.delete(workspaceId);
      this.#held.set(workspaceId, held);
      held.usedAtMs = nowMs;
      return held.resource;
    }
    const resource = this.open(workspaceId);
    this.#held.set(workspaceId, { resource, file, usedAtMs: nowMs });
    const [oldest] = this.#held.keys();
    if (oldest !== undefined && this.#held.size > this.limits.maxOpen) this.drop(oldest);
    return resource;
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
      .filter(([, { usedAtMs }]) => usedAtMs + this.limits.idleMs < nowMs)
      .map(([workspaceId]) => workspaceId);
  }

  closeIdle(nowMs: number): void {
    for (const workspaceId of this.idle(nowMs)) this.drop(workspaceId);
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

  ids(): string[] {
    return [...this.#held.keys()];
  }
}
