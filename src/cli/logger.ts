/**
 * The daemon's log: one line an event, on standard error. JSON for machines, text for a terminal. Lines
 * are gathered and written a few times a second, since a write for each request would cost more than the
 * request; when nobody reads, lines are dropped and counted rather than memory filled.
 */
import type { Clock } from "../ids.ts";
import type { Settings } from "../settings/schema.ts";

const LEVELS = ["debug", "info", "warn", "error"] as const;
const FLUSH_INTERVAL_MS = 100;
/** Unwritten text past this is dropped. */
const MAX_PENDING_CHARACTERS = 4 * 1024 * 1024;
/** How long the end of the log may hold up the end of the process. */
const LAST_FLUSH_MS = 300;

export type LogLevel = (typeof LEVELS)[number];
export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** What a log is written to: `write` resolves when it can take more. */
export interface LogSink {
  write(text: string): Promise<void>;
}

export interface LoggerOptions {
  level: LogLevel;
  format: "text" | "json";
  clock: Clock;
  sink: LogSink;
}

/** A log. Messages are fixed texts; what varies stands in the fields, and is never a secret or a value. */
export class Logger implements AsyncDisposable {
  readonly #options: LoggerOptions;
  readonly #least: number;
  readonly #timer: NodeJS.Timeout;
  #pending = "";
  #dropped = 0;
  #writing: Promise<void> | null = null;

  constructor(options: LoggerOptions) {
    this.#options = options;
    this.#least = LEVELS.indexOf(options.level);
    this.#timer = setInterval(() => void this.flush(), FLUSH_INTERVAL_MS).unref();
  }

  /** True when events of this level are written; asked before costly fields are put together. */
  writes(level: LogLevel): boolean {
    return LEVELS.indexOf(level) >= this.#least;
  }

  debug(message: string, fields?: LogFields): void {
    this.#log("debug", message, fields);
  }

  info(message: string, fields?: LogFields): void {
    this.#log("info", message, fields);
  }

  warn(message: string, fields?: LogFields): void {
    this.#log("warn", message, fields);
  }

  error(message: string, fields?: LogFields): void {
    this.#log("error", message, fields);
  }

  /** Hands what is pending to the sink; one write at a time, so that lines keep their order. */
  async flush(): Promise<void> {
    if (this.#writing) return this.#writing;
    if (this.#dropped > 0) {
      const lines = this.#dropped;
      this.#dropped = 0;
      this.#pending += this.#line("warn", "log lines were dropped, since nobody read them in time", {
        lines,
      });
    }
    if (this.#pending === "") return;
    const text = this.#pending;
    this.#pending = "";
    this.#writing = this.#options.sink.write(text).finally(() => {
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

  #log(level: LogLevel, message: string, fields: LogFields = {}): void {
    if (!this.writes(level)) return;
    if (this.#pending.length > MAX_PENDING_CHARACTERS) this.#dropped++;
    else this.#pending += this.#line(level, message, fields);
  }

  #line(level: LogLevel, message: string, fields: LogFields): string {
    const { format, clock } = this.#options;
    const time = new Date(clock()).toISOString();
    if (format === "json") return `${JSON.stringify({ time, level, message, ...fields })}\n`;
    return `${time} ${level.toUpperCase().padEnd(5)} ${message}${textFields(fields)}\n`;
  }
}

function textFields(fields: LogFields): string {
  let text = "";
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    const plain = typeof value !== "string" || /^[\w.:/@~+-]+$/.test(value);
    text += ` ${name}=${plain ? value : JSON.stringify(value)}`;
  }
  return text;
}

/** `auto` is text on a terminal and JSON otherwise. */
export function resolveFormat(format: Settings["log_format"], terminal: boolean): "text" | "json" {
  if (format !== "auto") return format;
  return terminal ? "text" : "json";
}
