/**
 * Prepares operations as they arrive while a transaction of their workspace waits for the server. So the thread works
 * while the server commits, and the next transaction is shorter.
 */
import type { Reply } from "../../workspace/contract.ts";
import type { AnyJob, OnReplies, PreparedJob, WorkspaceWriter } from "../../workspace/perform.ts";
import { charactersOf, type Recorded } from "../messages.ts";

/**
 * The most text of an operation that is prepared on arrival, UTF-16 units. Longer ones would delay the server's answer.
 */
const MOST_CHARACTERS = 32 * 1024;

/** An operation that waits for its transaction. */
export type Arrived = Recorded & { readonly ahead?: PreparedJob };

export class PreparedAhead {
  /** The writers with an open transaction, by workspace. */
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

  /** Prepares the operations whose workspace has an open transaction. Returns all operations. */
  arrived(operations: Recorded[]): Arrived[] {
    if (this.#writers.size === 0) return operations;
    return operations.map((operation) => {
      const writer = this.#writers.get(operation.workspaceId);
      if (writer === undefined || charactersOf(operation) > MOST_CHARACTERS) return operation;
      return { ...operation, ahead: writer.prepareAhead(this.makeJob(operation)) };
    });
  }
}
