/**
 * The daemon's log on standard error, one line per event: JSON for machines, text for a terminal. pino formats the
 * lines. Its own transports need threads that load code by path, which a compiled binary cannot do, so {@link LogBuffer}
 * writes them.
 */
import { type Logger as Pino, pino } from "pino";
import type { Clock } from "../ids.ts";
import type { Settings } from "../settings/definitions.ts";
import { atMost } from "../timer.ts";

export type LogLevel = "debug" | "info" | "warn" | "error";
export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

export interface LoggerOptions {
  level: LogLevel;
  format: "text" | "json";
  clock: Clock;
  sink: LogSink;
}

/** A log. Messages are fixed texts. Fields hold what varies, and never a secret or a stored value. */
export class Logger implements AsyncDisposable {
  readonly #pino: Pino;
  readonly #buffer: LogBuffer;

  constructor({ level, format, clock, sink }: LoggerOptions) {
    const buffer = new LogBuffer(sink, (lines) =>
      this.warn("log lines were dropped because the reader was too slow", { lines }),
    );
    const write = format === "json" ? (line: string) => buffer.add(line) : (line: string) => buffer.add(asText(line));
    this.#buffer = buffer;
    this.#pino = pino(
      {
        level,
        // No process id and no host name: log collectors know them.
        base: null,
        messageKey: "message",
        timestamp: () => `,"time":"${new Date(clock()).toISOString()}"`,
        formatters: { level: (name) => ({ level: name }) },
      },
      { write },
    );
  }

  /** Reports whether events of this level are written. Call it before composing expensive fields. */
  writes(level: LogLevel): boolean {
    return this.#pino.isLevelEnabled(level);
  }

  debug(message: string, fields: LogFields = {}): void {
    this.#pino.debug(fields, message);
  }

  info(message: string, fields: LogFields = {}): void {
    this.#pino.info(fields, message);
  }

  warn(message: string, fields: LogFields = {}): void {
    this.#pino.warn(fields, message);
  }

  error(message: string, fields: LogFields = {}): void {
    this.#pino.error(fields, message);
  }

  /** Writes the pending lines to the sink. */
  flush(): Promise<void> {
    return this.#buffer.flush();
  }

  /** Writes the pending lines. Gives up when the reader is too slow. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#buffer[Symbol.asyncDispose]();
  }
}

/** Converts a JSON line to a text line. */
function asText(line: string): string {
  const { time, level, message, ...fields } = JSON.parse(line) as Record<string, string>;
  return `${time} ${level?.toUpperCase().padEnd(5)} ${message}${textFields(fields)}\n`;
}

function textFields(fields: LogFields): string {
  let text = "";
  for (const [name, value] of Object.entries(fields)) {
    const plain = typeof value !== "string" || /^[\w.:/@~+-]+$/.test(value);
    text += ` ${name}=${plain ? value : JSON.stringify(value)}`;
  }
  return text;
}

/** Returns the format to use: `auto` is text on a terminal and JSON otherwise. */
export function resolveFormat(format: Settings["log_format"], terminal: boolean): "text" | "json" {
  if (format !== "auto") return format;
  return terminal ? "text" : "json";
}

const FLUSH_INTERVAL_MS = 100;
/** Pending text beyond this is dropped. */
const MAX_PENDING_CHARACTERS = 4 * 1024 * 1024;
/** How long writing the last lines may delay the end of the process. */
const LAST_FLUSH_MS = 300;

/** Where a log is written to. `write` resolves when the sink can take more. */
export interface LogSink {
  write(text: string): Promise<void>;
}

/**
 * Buffers lines and writes them a few times a second, since one write per request would cost more than the request.
 * When the reader is too slow, lines are dropped and counted, so that the buffer stays bounded.
 */
export class LogBuffer implements AsyncDisposable {
  readonly #sink: LogSink;
  readonly #onDropped: (lines: number) => void;
  readonly #timer: NodeJS.Timeout;
  #pending = "";
  #dropped = 0;
  #writing: Promise<void> | null = null;

  /** `onDropped` is called with the number of dropped lines, and reports it by adding a line. */
  constructor(sink: LogSink, onDropped: (lines: number) => void) {
    this.#sink = sink;
    this.#onDropped = onDropped;
    this.#timer = setInterval(() => void this.flush(), FLUSH_INTERVAL_MS).unref();
  }

  /** Adds a line, or drops it when too much is pending. */
  add(line: string): void {
    if (this.#pending.length > MAX_PENDING_CHARACTERS) this.#dropped++;
    else this.#pending += line;
  }

  /** Writes the pending lines to the sink, one write at a time, so that lines keep their order. */
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

  /** Writes the pending lines. Gives up when the reader is too slow. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await atMost(
      LAST_FLUSH_MS,
      this.flush().then(() => this.flush()),
    );
  }
}
