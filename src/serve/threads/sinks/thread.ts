/** The main thread's end of the thread that delivers to sinks. */
import type { ThreadOptions } from "../messages.ts";
import { REAL_THREADS, SupervisedWorker, type ThreadReports } from "../supervised.ts";
import type { FromSinks, ReportedSink, SinkPlan, ToSinks } from "./messages.ts";

export interface SinkEvents {
  onState(state: ReportedSink): void;
  onEnded(sinkIds: readonly string[]): void;
  /** Called when the receiver wants no more deliveries. */
  onGone(workspaceId: string, sinkId: string): void;
}

export class SinkThread {
  readonly #worker: SupervisedWorker;

  /** @param plan returns the present plan, for a thread that starts */
  constructor(
    options: ThreadOptions,
    reports: ThreadReports,
    private readonly events: SinkEvents,
    private readonly plan: () => SinkPlan,
  ) {
    const onMessage = (message: FromSinks) => this.#receive(message);
    const entry = "serve/threads/sinks/worker.ts";
    this.#worker = new SupervisedWorker({ entry, options, reports, onMessage, onEnd: () => {} }, REAL_THREADS);
  }

  /** Sends the present plan to the thread. */
  follow(): void {
    this.#post({ kind: "plan", plan: this.plan() });
  }

  /** Tells the thread that the sinks of a workspace may have changed. */
  look(workspaceId: string): void {
    this.#post({ kind: "look", workspaceId });
  }

  /** Tells the thread to close a workspace, and not to read it for a while. */
  forget(workspaceId: string): void {
    if (!this.#worker.isClosing) this.#post({ kind: "forget", workspaceId });
  }

  async close(): Promise<void> {
    await this.#worker.close(() => this.#post({ kind: "close" }));
  }

  #post(message: ToSinks): void {
    this.#worker.post(message);
  }

  #receive(message: FromSinks): void {
    switch (message.kind) {
      case "states":
        for (const state of message.states) this.events.onState(state);
        break;
      case "ended":
        this.events.onEnded(message.sinkIds);
        break;
      case "gone":
        this.events.onGone(message.workspaceId, message.sinkId);
        break;
      case "ready":
        this.#worker.receive(message);
        this.follow();
        break;
      default:
        this.#worker.receive(message);
    }
  }
}
