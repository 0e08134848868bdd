/** The workspaces of a thread, each used under guard: one whose disk or file fails is closed and looked at anew. */
import type { Clock } from "../ids.ts";
import { releaseClosed } from "../store/connection.ts";
import type { WorkspaceWriter } from "../workspace/perform.ts";
import {
  failedWriting,
  isOfDisk,
  mustReopen,
  type StorageTrouble,
  troubleOf,
} from "../workspace/storage-failure.ts";
import { rewriteHead } from "../workspace/tail.ts";
import { type FromWriter, reportFailure } from "./messages.ts";
import type { Closable, OpenWorkspaces } from "./open-workspaces.ts";
import { StorageHealth, WorkspacePaused } from "./storage-health.ts";

/** Troubled workspaces that are tried again at once. */
const PROBES_AT_ONCE = 8;

const UNREADABLE =
  "The workspace's file cannot be opened; nothing was changed. The server's log names it; `governd verify` examines it.";
const DISK_FAILS = "The disk takes no writes just now; nothing was changed. Try again shortly.";

/** A workspace that is open for writing. */
export interface Writable extends Closable {
  writer: WorkspaceWriter;
  /** Resolves when it can be used. */
  ready: Promise<void>;
}

export class GuardedWorkspaces<T extends Writable> {
  readonly #open: OpenWorkspaces<T>;
  readonly #clock: Clock;
  readonly #post: (message: FromWriter) => void;
  readonly #health: StorageHealth;

  constructor(open: OpenWorkspaces<T>, clock: Clock, post: (message: FromWriter) => void) {
    this.#open = open;
    this.#clock = clock;
    this.#post = post;
    this.#health = new StorageHealth((workspaceId, trouble, error) => {
      const reason = trouble === null ? null : reportFailure("", error).name;
      post({ kind: "trouble", workspaceId, reason, trouble });
    });
  }

  /**
   * Does something with a workspace that is opened if need be. One that failed is opened and looked at anew when
   * it is next used.
   * @throws whatever opening and the work throw, and {WorkspacePaused} just after it failed
   */
  async use<R>(workspaceId: string, work: (open: T) => Promise<R>): Promise<R> {
    this.#health.require(workspaceId, this.#clock());
    const open = this.#open.use(workspaceId, this.#clock());
    await open.ready;
    try {
      return await work(open);
    } finally {
      this.#look(workspaceId, open.writer.failure);
    }
  }

  /** What follows from how the last transaction of a workspace ended. */
  #look(workspaceId: string, failure: unknown): void {
    if (failure === null) {
      this.#health.works(workspaceId);
      this.#open.release(workspaceId);
    } else if (failure !== undefined && mustReopen(failure)) {
      if (failedWriting(failure)) this.#open.setAside(workspaceId);
      else this.#open.drop(workspaceId);
    }
  }

  /** Notes a failure, and has the log tell of it unless it just did. */
  fail(workspaceId: string, where: string, error: unknown): void {
    if (!this.#health.failed(workspaceId, error, this.#clock())) return;
    this.#post({ kind: "failure", failure: reportFailure(where, error) });
  }

  /** Tries troubled ones again, so that it is known when a trouble is over, whether or not anybody asks. */
  async probe(): Promise<void> {
    const due = this.#health.toProbe(this.#clock(), PROBES_AT_ONCE);
    // A file that was opened while it could not be written stays so until the last connection to it is gone.
    if (due.length > 0 && releaseClosed()) await new Promise((resolve) => setImmediate(resolve));
    for (const workspaceId of due) {
      try {
        await this.use(workspaceId, ({ writer }) => writer.derive(async (tx) => rewriteHead(tx)));
      } catch (error) {
        this.fail(workspaceId, `opening ${workspaceId}`, error);
        if (troubleOf(error) === "disk_failing" && !failedWriting(error))
          this.#post({ kind: "unwritable", workspaceId });
      }
    }
  }
}

/** What clients of a workspace that could not be used are told. */
export function whyUnusable(error: unknown): string {
  const trouble: StorageTrouble | null = error instanceof WorkspacePaused ? error.trouble : troubleOf(error);
  return trouble !== null && isOfDisk(trouble) ? DISK_FAILS : UNREADABLE;
}
