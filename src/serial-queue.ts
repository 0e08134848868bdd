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
