/** Runs pieces of work one after another. */
export class SerialQueue {
  #last: Promise<void> = Promise.resolve();

  /**
   * Runs `work` when all earlier work has succeeded or failed. Returns its result, or rejects with its error; later
   * work runs in either case.
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

/** Runs pieces of work with the same name one after another, and others concurrently. */
export class NamedQueues {
  readonly #queues = new Map<string, { queue: SerialQueue; waiting: number }>();

  /** Runs `work` after all earlier work with this name, as {@link SerialQueue.run} does. */
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
