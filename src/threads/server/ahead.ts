/**
 * What can be done of operations while a transaction of their workspace waits for the server: they are prepared as they
 * arrive. So the thread works while the server commits, and the next transaction is shorter.
 */
import type { Reply } from "../../workspace/contract.ts";
import type { AnyJob, WorkspaceWriter } from "../../workspace/perform.ts";
import { charactersOf, type Recorded } from "../messages.ts";

/** Most text of an operation that is prepared on arrival, UTF-16 units: the answer of the server does not wait for long. */
const MOST_CHARACTERS = 32 * 1024;

export class PreparedAhead {
  readonly #jobs = new WeakMap<Recorded, AnyJob>();
  /** The writers that have a transaction under way, by workspace. */
  readonly #writers = new Map<string, WorkspaceWriter>();

  constructor(private readonly makeJob: (message: Recorded) => AnyJob) {}

  /** Performs operations of a workspace. */
  async perform(workspaceId: string, writer: WorkspaceWriter, group: readonly Recorded[]): Promise<Reply[]> {
    const jobs = group.map((operation) => this.#jobs.get(operation) ?? this.makeJob(operation));
    if (!writer.waitsForServer) return writer.perform(jobs);
    this.#writers.set(workspaceId, writer);
    try {
      return await writer.perform(jobs);
    } finally {
      this.#writers.delete(workspaceId);
    }
  }

  /** Prepares those of the operations whose workspace has a transaction under way. Returns all of them. */
  arrived(operations: Recorded[]): Recorded[] {
    if (this.#writers.size === 0) return operations;
    for (const operation of operations) {
      const writer = this.#writers.get(operation.workspaceId);
      if (writer === undefined || charactersOf(operation) > MOST_CHARACTERS) continue;
      const job = this.makeJob(operation);
      writer.prepareAhead(job);
      this.#jobs.set(operation, job);
    }
    return operations;
  }
}
