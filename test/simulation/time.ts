/** Time that only the simulation moves. */
import type { Timer } from "../../src/timer.ts";

const START_MS = Date.UTC(2026, 0, 1);

interface Waiting {
  atMs: number;
  work: () => void;
}

export class SimulatedTime {
  /** The monotonic time, by which timers run. */
  #elapsedMs = 0;
  /** The sum of all changes of the wall clock. */
  #skewMs = 0;
  #waiting: Waiting[] = [];

  readonly clock = (): number => START_MS + this.#elapsedMs + this.#skewMs;

  readonly timer: Timer = (ms, work) => {
    const waiting = { atMs: this.#elapsedMs + ms, work };
    this.#waiting.push(waiting);
    return () => {
      this.#waiting = this.#waiting.filter((one) => one !== waiting);
    };
  };

  /** Lets time pass, and calls each timer when it is due. */
  pass(ms: number): void {
    const untilMs = this.#elapsedMs + ms;
    for (;;) {
      let next: Waiting | undefined;
      for (const one of this.#waiting)
        if (one.atMs <= untilMs && (next === undefined || one.atMs < next.atMs)) next = one;
      if (next === undefined) break;
      this.#elapsedMs = Math.max(this.#elapsedMs, next.atMs);
      this.#waiting.splice(this.#waiting.indexOf(next), 1);
      next.work();
    }
    this.#elapsedMs = untilMs;
  }

  /** Lets the machine sleep: a timer that falls due meanwhile is called once, afterwards. */
  sleep(ms: number): void {
    this.#elapsedMs += ms;
    this.pass(0);
  }

  /** Moves the wall clock forwards or backwards. */
  jump(ms: number): void {
    this.#skewMs += ms;
  }
}
