/**
 * File descriptors that are kept for workspaces. The runtime accepts every connection that waits, before anything else
 * runs, so a burst can take all descriptors that the system allows. A thread that finds none left says so; then the ports
 * are closed, and only then the reserve is released, so that no connection gets it.
 */
import { closeSync, openSync } from "node:fs";
import { devNull } from "node:os";

/** Some ten workspaces are opened with these. */
const RESERVED_DESCRIPTORS = 32;
/** How often a released reserve is taken again. */
const INTERVAL_MS = 250;

export class DescriptorReserve implements Disposable {
  #held: number[] = [];
  #timer: NodeJS.Timeout | undefined;
  readonly #ports = new Set<() => void>();

  constructor(private readonly size = RESERVED_DESCRIPTORS) {
    this.#take();
  }

  /** Whether nothing was released, or all of it is held again. */
  get isWhole(): boolean {
    return this.#held.length === this.size;
  }

  /** Has a port closed, by `close`, before the reserve is released. Returns the function that ends this. */
  guard(close: () => void): () => void {
    this.#ports.add(close);
    return () => this.#ports.delete(close);
  }

  /** Releases the reserve because the process has no other descriptor left. */
  release(): void {
    for (const close of this.#ports) close();
    this.#drop();
    this.#timer ??= setInterval(() => this.#take(), INTERVAL_MS).unref();
  }

  /** Takes all of the reserve, or nothing. */
  #take(): void {
    try {
      while (this.#held.length < this.size) this.#held.push(openSync(devNull, "r"));
    } catch {
      // None are left still. The next attempt follows.
      this.#drop();
      this.#timer ??= setInterval(() => this.#take(), INTERVAL_MS).unref();
      return;
    }
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #drop(): void {
    for (const descriptor of this.#held.splice(0)) closeSync(descriptor);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#drop();
  }
}
