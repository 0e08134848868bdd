/** Keeps the full-text indexes of a thread's workspaces up to date, in steps between operations. */
import { hasFullText, startFullText, stepFullText } from "../../core/rows/full-text.ts";
import type { Connection } from "../../store/connection.ts";
import type { Timer } from "../../timer.ts";
import type { Recorded } from "./messages.ts";

type Work = (connection: Connection) => Promise<void>;
type Queue = (workspaceId: string, work: Work) => void;

/** The pause between two steps, so that operations run first, ms. */
const PAUSE_MS = 2;

export class FullTextUpkeep {
  /** Workspaces with full text; true while a step is due. */
  readonly #due = new Map<string, boolean>();
  #stopped = false;

  /** @param queue runs work on a workspace in a transaction, after all work that already waits */
  constructor(
    private readonly queue: Queue,
    private readonly timer: Timer,
  ) {}

  /** Continues the full text of a workspace that was opened. */
  async opened(workspaceId: string, connection: Connection): Promise<void> {
    if (await hasFullText(connection)) this.#next(workspaceId);
  }

  /** To be called after operations: their changes are indexed, and indexes are begun that a search asked for. */
  performed(workspaceId: string, group: readonly Recorded[]): void {
    for (const message of group) {
      const agentId = wanting(message);
      if (agentId !== null) this.#start(workspaceId, agentId);
    }
    if (this.#due.has(workspaceId)) this.#next(workspaceId);
  }

  /** To be called when a step failed. The next operations on the workspace start another step. */
  failed(workspaceId: string): void {
    this.#due.set(workspaceId, false);
  }

  stop(): void {
    this.#stopped = true;
  }

  #start(workspaceId: string, agentId: string): void {
    this.queue(workspaceId, async (connection) => {
      await startFullText(connection, agentId);
      this.#next(workspaceId);
    });
  }

  #next(workspaceId: string): void {
    if (this.#stopped || this.#due.get(workspaceId) === true) return;
    this.#due.set(workspaceId, true);
    this.timer(PAUSE_MS, () => {
      if (this.#stopped) return;
      this.queue(workspaceId, async (connection) => {
        const worked = await stepFullText(connection);
        this.#due.set(workspaceId, false);
        if (worked) this.#next(workspaceId);
        else if (!(await hasFullText(connection))) this.#due.delete(workspaceId);
      });
    });
  }
}

/** Returns the agent for whose entries a search asks for a full-text index; null for none. */
function wanting(message: Recorded): string | null {
  if ("event" in message || message.name !== "data.search") return null;
  const { input, found } = message;
  const { wantsFullText } = (found ?? {}) as { wantsFullText?: boolean };
  return wantsFullText === true ? (input as { agentId: string }).agentId : null;
}
