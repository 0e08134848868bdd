/** The main thread's end of the thread that delivers to sinks. */
import type { SinkConfig } from "../../../follow/sinks/config.ts";
import type { SinkState } from "../../../follow/sinks/delivery.ts";
import type { ThreadOptions } from "../messages.ts";
import { REAL_THREADS, SupervisedWorker, type ThreadReports } from "../supervised.ts";
import type { FromSinks, SinkPlan, ToSinks } from "./messages.ts";

export interface SinkEvents {
  onState(state: SinkState): void;
  /** Called when the backlog of an idle sink was measured. */
  onLag(sinkId: string, lag: number | null): void;
  /** Called when the receiver wants no more deliveries. */
  onGone(sinkId: string): void;
}

export class SinkThread {
  readonly #worker: SupervisedWorker;
  readonly #tests = new Map<number, (error: string | null) => void>();
  #nextId = 1;

  /** @param plan returns the present plan, for a thread that starts */
  constructor(
    options: ThreadOptions,
    reports: ThreadReports,
    private readonly events: SinkEvents,
    private readonly plan: () => SinkPlan,
  ) {
    const onMessage = (message: FromSinks) => this.#receive(message);
    const onEnd = () => this.#endTests();
    const entry = "serve/threads/sinks/worker.ts";
    this.#worker = new SupervisedWorker({ entry, options, reports, onMessage, onEnd }, REAL_THREADS);
  }

  /** Sends the present plan to the thread. */
  follow(): void {
    this.#post({ kind: "plan", plan: this.plan() });
  }

  /** Sends a record to a sink. Returns why it was not delivered; null when it was. */
  test(config: SinkConfig): Promise<string | null> {
    if (!this.#worker.alive || this.#worker.isClosing) return Promise.resolve(NOT_RUNNING);
    const id = this.#nextId++;
    return new Promise((resolve) => {
      this.#tests.set(id, resolve);
      this.#post({ kind: "test", id, config, places: this.plan().places });
    });
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
      case "lag":
        this.events.onLag(message.sinkId, message.lag);
        break;
      case "gone":
        this.events.onGone(message.sinkId);
        break;
      case "tested":
        this.#tests.get(message.id)?.(message.error);
        this.#tests.delete(message.id);
        break;
      case "ready":
        this.#worker.receive(message);
        this.follow();
        break;
      default:
        this.#worker.receive(message);
    }
  }

  #endTests(): void {
    for (const resolve of this.#tests.values()) resolve(NOT_RUNNING);
    this.#tests.clear();
  }
}

const NOT_RUNNING = "the thread that delivers does not run at the moment";
