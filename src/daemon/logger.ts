/**
 * The daemon's log: one line an event, on standard error. JSON for machines, text for a terminal. The
 * lines are pino's; its own ways of writing them need threads that load code by path, which one binary
 * does not have, so they go through {@link LogBuffer}.
 */
import { type Logger as Pino, pino } from "pino";
import type { Clock } from "../ids.ts";
import type { Settings } from "../settings/schema.ts";
import { LogBuffer, type LogSink } from "./log-buffer.ts";

export type { LogSink } from "./log-buffer.ts";

export type LogLevel = "debug" | "info" | "warn" | "error";
export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

export interface LoggerOptions {
  level: LogLevel;
  format: "text" | "json";
  clock: Clock;
  sink: LogSink;
}

/** A log. Messages are fixed texts; what varies stands in the fields, and is never a secret or a value. */
export class Logger implements AsyncDisposable {
  readonly #pino: Pino;
  readonly #buffer: LogBuffer;

  constructor({ level, format, clock, sink }: LoggerOptions) {
    const buffer = new LogBuffer(sink, (lines) =>
      this.warn("log lines were dropped, since nobody read them in time", { lines }),
    );
    const write =
      format === "json" ? (line: string) => buffer.add(line) : (line: string) => buffer.add(asText(line));
    this.#buffer = buffer;
    this.#pino = pino(
      {
        level,
        // No process id and no host name: whoever gathers logs knows them.
        base: null,
        messageKey: "message",
        timestamp: () => `,"time":"${new Date(clock()).toISOString()}"`,
        formatters: { level: (name) => ({ level: name }) },
      },
      { write },
    );
  }

  /** True when events of this level are written; asked before costly fields are put together. */
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

  /** Hands what is pending to the sink. */
  flush(): Promise<void> {
    return this.#buffer.flush();
  }

  /** Writes what is pending, unless nobody reads it for a while. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#buffer[Symbol.asyncDispose]();
  }
}

/** A line for people, from one for machines. */
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

/** `auto` is text on a terminal and JSON otherwise. */
export function resolveFormat(format: Settings["log_format"], terminal: boolean): "text" | "json" {
  if (format !== "auto") return format;
  return terminal ? "text" : "json";
}
