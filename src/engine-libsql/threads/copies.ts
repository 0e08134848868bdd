/** The working copies of workspaces on a libSQL server, and the scheduling of batches that wait for the server. */

import type { FromWriter } from "../../serve/threads/messages.ts";
import type { BatchQueue } from "../../serve/threads/turns/batch-queue.ts";
import type { ServerOptions } from "../../settings/server-options.ts";
import type { EncryptionKey } from "../../store/encryption.ts";
import { nextTurn } from "../../timer.ts";
import { type OpenedCopy, ServerEngine } from "../server-engine.ts";

interface CopiesParts {
  server: ServerOptions;
  encryptionKey: EncryptionKey | null;
  pathOf(workspaceId: string): string;
  post(message: FromWriter): void;
}

export class Copies {
  readonly #engine: ServerEngine;
  /** Copies that were opened and not taken yet, by workspace. */
  readonly #opened = new Map<string, OpenedCopy>();

  constructor(private readonly parts: CopiesParts) {
    this.#engine = new ServerEngine(parts.server, (warning) => parts.post({ kind: "warning", warning }));
  }

  /** Opens the copy of a workspace and brings it up to date. @throws as {@link ServerEngine.open} */
  readonly open = async (workspaceId: string): Promise<void> => {
    const { pathOf, encryptionKey } = this.parts;
    this.#opened.set(workspaceId, await this.#engine.open(workspaceId, pathOf(workspaceId), encryptionKey));
  };

  /** Returns the copy that {@link open} opened. The caller must close it. */
  take(workspaceId: string): OpenedCopy {
    const opened = this.#opened.get(workspaceId);
    if (opened === undefined) throw new Error("a working copy is taken before it was opened");
    this.#opened.delete(workspaceId);
    return opened;
  }
}

/** Runs batches of different workspaces concurrently, since they mostly wait for the server. */
export class BesideOneAnother<T extends { readonly workspaceId: string }> {
  /** Workspaces that have a running batch. */
  readonly #busy = new Set<string>();
  /** Whether the next turn of the event loop will begin a batch. */
  #isBeginning = false;

  constructor(
    private readonly batches: BatchQueue<T>,
    private readonly serve: (workspaceId: string, group: readonly T[]) => Promise<void>,
    private readonly onFailure: (error: unknown) => void,
  ) {}

  /**
   * Begins the waiting batches, one in each turn of the event loop, so that operations of the same moment can join
   * them.
   */
  begin(): void {
    if (this.#isBeginning) return;
    this.#isBeginning = true;
    nextTurn()
      .then(() => {
        this.#isBeginning = false;
        this.#beginNext();
      })
      .catch(this.onFailure);
  }

  /** Resolves when no batch waits or runs. */
  async ended(): Promise<void> {
    while (!this.batches.isEmpty || this.#busy.size > 0) await nextTurn();
  }

  /**
   * Begins one batch. The others wait until it waits for the server, and operations that arrive until then join them.
   */
  #beginNext(): void {
    const next = this.batches.take((workspaceId) => !this.#busy.has(workspaceId));
    if (next === null) return;
    const { workspaceId, group } = next;
    this.#busy.add(workspaceId);
    void this.serve(workspaceId, group)
      .catch(this.onFailure)
      .finally(() => {
        this.#busy.delete(workspaceId);
        this.begin();
      });
    this.begin();
  }
}
