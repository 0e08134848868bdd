/**
 * What can be done of operations while a transaction of their workspace waits for the server: they are prepared as they
 * arrive. So the thread works while the server commits, and the next transaction is shorter.
 */
import type { Reply } from "../../workspace/contract.ts";
import type { AnyJob, OnReplies, PreparedJob, WorkspaceWriter } from "../../workspace/perform.ts";
import { charactersOf, type Recorded } from "../messages.ts";

/** Most text of an operation that is prepared on arrival, UTF-16 units: the answer of the server does not wait for long. */
const MOST_CHARACTERS = 32 * 1024;

/** An operation that waits for its transaction. */
export type Arrived = Recorded & { readonly ahead?: PreparedJob };

export class PreparedAhead {
  /** The writers that have a transaction under way, by workspace. */
  readonly #writers = new Map<string, WorkspaceWriter>();

  constructor(private readonly makeJob: (message: Recorded) => AnyJob) {}

  /** Performs operations of a workspace, as {@link WorkspaceWriter.perform} does. */
  async perform(
    workspaceId: string,
    writer: WorkspaceWriter,
    group: readonly Arrived[],
    onCommitted: OnReplies,
  ): Promise<Reply[]> {
    const jobs = group.map((operation) => operation.ahead ?? this.makeJob(operation));
    if (!writer.waitsForServer) return writer.perform(jobs, onCommitted);
    this.#writers.set(workspaceId, writer);
    try {
      return await writer.perform(jobs, onCommitted);
    } finally {
      this.#writers.delete(workspaceId);
    }
  }

  /** Prepares those of the operations whose workspace has a transaction under way. Returns all of them. */
  arrived(operations: Recorded[]): Arrived[] {
    if (this.#writers.size === 0) return operations;
    return operations.map((operation) => {
      const writer = this.#writers.get(operation.workspaceId);
      if (writer === undefined || charactersOf(operation) > MOST_CHARACTERS) return operation;
      return { ...operation, ahead: writer.prepareAhead(this.makeJob(operation)) };
    });
  }
}
