/** Keeps requests with the same `Idempotency-Key` from running at the same time. */
import { type Bytes, problem, type Reply, type Retry } from "../../core/writer/contract.ts";
import { ANOTHER_REQUEST } from "../../core/writer/retries.ts";

const IN_PROGRESS =
  "The first request with this Idempotency-Key is still running. Send this again in a moment to get its answer.";

export class RunningRetries {
  /** The digests of the running requests, by workspace and key. */
  readonly #running = new Map<string, string>();

  /** Returns what `perform` returns, or refuses while a request with the key is running. */
  async once(workspaceId: string, { id, request }: Retry, perform: () => Promise<Reply<Bytes>>): Promise<Reply<Bytes>> {
    const place = `${workspaceId} ${id}`;
    const running = this.#running.get(place);
    if (running === request) return problem("idempotency_in_progress", IN_PROGRESS);
    if (running !== undefined) return problem("idempotency_mismatch", ANOTHER_REQUEST);
    this.#running.set(place, request);
    try {
      return await perform();
    } finally {
      this.#running.delete(place);
    }
  }
}
