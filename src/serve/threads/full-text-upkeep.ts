/** Keeps the full-text indexes of a thread's workspaces up to date, in steps between operations. */
import { hasFullText, startFullText, stepFullText } from "../../core/rows/full-text.ts";
import { type Around, Follower, UNTIL_WOKEN } from "../../follower.ts";
import type { Connection } from "../../store/connection.ts";
import type { Recorded } from "./messages.ts";

/** The pause between two steps, so that operations run first, ms. */
const PAUSE_MS = 2;

interface FullTextParts {
  /** Runs work on a workspace in a transaction, after all work that already waits. */
  run<T>(workspaceId: string, work: (connection: Connection) => Promise<T>): Promise<T>;
  onFailure(workspaceId: string, error: unknown): void;
  around: Around;
}

export class FullTextUpkeep {
  /** One for each workspace with full text. Its position is in the workspace's file. */
  readonly #followers = new Map<string, Follower>();
  #isStopped = false;

  constructor(private readonly parts: FullTextParts) {}

  /** Continues the full text of a workspace that was opened. */
  async opened(workspaceId: string, connection: Connection): Promise<void> {
    if (await hasFullText(connection)) this.#follow(workspaceId);
  }

  /** To be called after operations: their changes are indexed, and indexes are begun that a search asked for. */
  performed(workspaceId: string, group: readonly Recorded[]): void {
    for (const message of group) {
      const agentId = wanting(message);
      if (agentId !== null) this.#start(workspaceId, agentId);
    }
    this.#followers.get(workspaceId)?.wake(PAUSE_MS);
  }

  stop(): void {
    this.#isStopped = true;
    for (const follower of this.#followers.values()) void follower.end();
  }

  /** An index that could not be begun is asked for by the next search. */
  #start(workspaceId: string, agentId: string): void {
    const { run, onFailure } = this.parts;
    run(workspaceId, (connection) => startFullText(connection, agentId)).then(
      () => this.#follow(workspaceId),
      (error) => onFailure(workspaceId, error),
    );
  }

  #follow(workspaceId: string): void {
    if (this.#isStopped) return;
    this.#followers.getOrInsertComputed(workspaceId, () => this.#newFollower(workspaceId)).wake(PAUSE_MS);
  }

  #newFollower(workspaceId: string): Follower {
    const { run, onFailure, around } = this.parts;
    const step = (signal: AbortSignal) =>
      run(workspaceId, async (connection) => {
        if (signal.aborted) return UNTIL_WOKEN;
        const worked = await stepFullText(connection);
        follower.recovered();
        if (worked) return PAUSE_MS;
        if (!(await hasFullText(connection))) this.#followers.delete(workspaceId);
        return UNTIL_WOKEN;
      });
    const follower = new Follower({ step, failed: (error) => onFailure(workspaceId, error) }, around);
    return follower;
  }
}

/** Returns the agent for whose entries a search asks for a full-text index; null for none. */
function wanting(message: Recorded): string | null {
  if ("event" in message || message.name !== "data.search") return null;
  const { input, found } = message;
  const { wantsFullText } = (found ?? {}) as { wantsFullText?: boolean };
  return wantsFullText === true ? (input as { agentId: string }).agentId : null;
}
