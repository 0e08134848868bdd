/** Work that is done one piece after another. */
export class Turns {
  #last: Promise<void> = Promise.resolve();

  /**
   * Does the work when everything that was asked for before is done, well or not. Answers what it answers and
   * rejects with what it throws; the work after it is done all the same.
   */
  take<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.then(
      () => {},
      () => {},
    );
    return done;
  }
}
