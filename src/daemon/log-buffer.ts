/**
 * What stands between the log and the file that it goes to. Lines are gathered and written a few times a
 * second, since a write for each request would cost more than the request; when nobody reads, lines are
 * dropped and counted rather than memory filled.
 */

const FLUSH_INTERVAL_MS = 100;
/** Unwritten text past this is dropped. */
const MAX_PENDING_CHARACTERS = 4 * 1024 * 1024;
/** How long the end of the log may hold up the end of the process. */
const LAST_FLUSH_MS = 300;

/** What a log is written to: `write` resolves when it can take more. */
export interface LogSink {
  write(text: string): Promise<void>;
}

export class LogBuffer implements AsyncDisposable {
  readonly #sink: LogSink;
  readonly #onDropped: (lines: number) => void;
  readonly #timer: NodeJS.Timeout;
  #pending = "";
  #dropped = 0;
  #writing: Promise<void> | null = null;

  /** `onDropped` says how many lines were dropped, by adding a line. */
  constructor(sink: LogSink, onDropped: (lines: number) => void) {
    this.#sink = sink;
    this.#onDropped = onDropped;
    this.#timer = setInterval(() => void this.flush(), FLUSH_INTERVAL_MS).unref();
  }

  /** Takes a line, or drops it. */
  add(line: string): void {
    if (this.#pending.length > MAX_PENDING_CHARACTERS) this.#dropped++;
    else this.#pending += line;
  }

  /** Hands what is pending to the sink; one write at a time, so that lines keep their order. */
  async flush(): Promise<void> {
    if (this.#writing) return this.#writing;
    const text = this.#pending;
    this.#pending = "";
    const dropped = this.#dropped;
    this.#dropped = 0;
    if (dropped > 0) this.#onDropped(dropped);
    const all = text + this.#pending;
    this.#pending = "";
    if (all === "") return;
    this.#writing = this.#sink.write(all).finally(() => {
      this.#writing = null;
    });
    return this.#writing;
  }

  /** Writes what is pending, unless nobody reads it for a while. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    const timeout = Promise.withResolvers<void>();
    const timer = setTimeout(timeout.resolve, LAST_FLUSH_MS);
    const written = this.flush().then(() => this.flush());
    await Promise.race([written, timeout.promise]);
    clearTimeout(timer);
  }
}
