/** Keeps the best of many entries: higher score first, equals by ascending id. */
export class TopEntries {
  readonly #limit: number;
  readonly #ids: number[] = [];
  readonly #scores: number[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Whether an entry with this score might be kept: a cheap test before `offer`. */
  accepts(score: number): boolean {
    return this.#ids.length < this.#limit || score >= (this.#scores[this.#limit - 1] as number);
  }

  offer(id: number, score: number): void {
    const ids = this.#ids;
    const scores = this.#scores;
    if (ids.length === this.#limit && !this.#precedes(id, score, ids.length - 1)) return;
    let at = ids.length;
    while (at > 0 && this.#precedes(id, score, at - 1)) at--;
    ids.splice(at, 0, id);
    scores.splice(at, 0, score);
    if (ids.length > this.#limit) {
      ids.pop();
      scores.pop();
    }
  }

  list(): { id: number; score: number }[] {
    return this.#ids.map((id, i) => ({ id, score: this.#scores[i] as number }));
  }

  #precedes(id: number, score: number, place: number): boolean {
    const other = this.#scores[place] as number;
    return score > other || (score === other && id < (this.#ids[place] as number));
  }
}
