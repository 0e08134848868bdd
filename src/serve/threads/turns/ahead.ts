/**
 * Prepares the operations of a workspace's next group while a commit of the workspace waits for a disk or a server. So
 * the thread works meanwhile, and the next transaction is shorter.
 */
import type { Reply } from "../../../core/writer/contract.ts";
import type { AnyJob, OnReplies, PreparedJob, WorkspaceWriter } from "../../../core/writer/perform.ts";
import type { FoundMessage, Recorded } from "../messages.ts";
import type { BatchQueue } from "./batch-queue.ts";

/** An operation that waits for its transaction. */
export type Arrived = Recorded & { ahead?: PreparedJob };

/** Gives an operation what another thread has found out about it, unless it has been prepared or has begun. */
export function takeFound(waiting: BatchQueue<Arrived>, { workspaceId, id, found }: FoundMessage): void {
  const operation = waiting.find(workspaceId, (one) => one.id === id);
  if (operation !== undefined && "input" in operation && operation.ahead === undefined) operation.found = found;
}

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
    this.#writers.set(workspaceId, writer);
    try {
      return await writer.perform(jobs, onCommitted);
    } finally {
      this.#writers.delete(workspaceId);
    }
  }

  /** Prepares operations until the time is over. Returns false when nothing is left to prepare. */
  prepare(workspaceId: string, operations: readonly Arrived[], isOver: () => boolean): boolean {
    const writer = this.#writers.get(workspaceId);
    if (writer === undefined) return false;
    for (const operation of operations) {
      operation.ahead ??= { job: this.makeJob(operation), preparations: [] };
      while (writer.prepareNext(operation.ahead)) if (isOver()) return true;
    }
    return false;
  }
}
