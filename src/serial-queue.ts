/** Runs pieces of work one after another. */
export class SerialQueue {
  #last: Promise<void> = Promise.resolve();

  /**
   * Runs `work` after all work before it has ended, well or not. Returns its result, or rejects with what it throws;
   * the work after it runs in either case.
   */
  run<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.then(
      () => {},
      () => {},
    );
    return done;
  }
}

/** Runs pieces of work one after another that have the same name, and others beside them. */
export class NamedQueues {
  readonly #queues = new Map<string, { queue: SerialQueue; waiting: number }>();

  /** Runs `work` after all work before it with this name, as {@link SerialQueue.run} does. */
  async run<T>(name: string, work: () => Promise<T>): Promise<T> {
    const named = this.#queues.get(name) ?? { queue: new SerialQueue(), waiting: 0 };
    this.#queues.set(name, named);
    named.waiting++;
    try {
      return await named.queue.run(work);
    } finally {
      if (--named.waiting === 0) this.#queues.delete(name);
    }
  }
}
