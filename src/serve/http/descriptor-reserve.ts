/**
 * File descriptors that are reserved for workspaces. The runtime accepts all waiting connections before anything else
 * runs, so a burst can take all descriptors that the system allows. A thread that finds no descriptor left reports it.
 * Then the ports are closed, and after that the reserve is released, so that no connection gets its descriptors.
 */
import { closeSync, openSync } from "node:fs";
import { devNull } from "node:os";

/** Enough for about ten workspaces. */
const RESERVED_DESCRIPTORS = 32;
/** How often taking a released reserve again is tried, ms. */
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

  /** Calls `close`, which closes a port, before the reserve is released. Returns a function that ends this. */
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

  /** Takes the whole reserve, or nothing. */
  #take(): void {
    try {
      while (this.#held.length < this.size) this.#held.push(openSync(devNull, "r"));
    } catch {
      // There are not enough descriptors yet, so it is tried again later.
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
