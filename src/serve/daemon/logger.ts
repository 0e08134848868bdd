/**
 * The daemon's log on standard error, one line per event: JSON for machines, text for a terminal. pino formats the
 * lines. Its own transports need threads that load code by path, which a compiled binary cannot do, so {@link Logger}
 * writes them.
 */
import { type Logger as Pino, pino } from "pino";
import type { Clock } from "../../ids.ts";
import type { Settings } from "../../settings/definitions.ts";
import { atMost } from "../../timer.ts";

type LogLevel = Settings["log_level"];
type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

const FLUSH_INTERVAL_MS = 100;
/** Pending text beyond this is dropped. */
const MAX_PENDING_CHARACTERS = 4 * 1024 * 1024;
/** How long writing the last lines may delay the end of the process, ms. */
const LAST_FLUSH_MS = 300;

/** The destination of a log. `write` resolves when it can accept more. */
export interface LogSink {
  write(text: string): Promise<void>;
}

/** The level and the format of a log. */
interface LogStyle {
  level: LogLevel;
  format: "text" | "json";
}

interface LoggerOptions extends LogStyle {
  clock: Clock;
  sink: LogSink;
}

/**
 * A log. Messages are fixed texts; fields have the variable parts, and never a secret or a stored value.
 *
 * Lines are buffered and written a few times a second, since one write per request would cost more than the request.
 * When the reader is too slow, lines are dropped and counted, so that the buffer stays bounded.
 */
export class Logger implements AsyncDisposable {
  readonly #pino: Pino;
  #format: LogStyle["format"];
  readonly #sink: LogSink;
  readonly #timer = setInterval(() => void this.flush(), FLUSH_INTERVAL_MS).unref();
  #pending = "";
  #dropped = 0;
  #writing: Promise<void> | null = null;

  readonly debug = this.#method("debug");
  readonly info = this.#method("info");
  readonly warn = this.#method("warn");
  readonly error = this.#method("error");

  constructor({ level, format, clock, sink }: LoggerOptions) {
    this.#sink = sink;
    this.#format = format;
    this.#pino = pino(
      {
        level,
        // No process id and no host name, since log collectors add them.
        base: null,
        messageKey: "message",
        timestamp: () => `,"time":"${new Date(clock()).toISOString()}"`,
        formatters: { level: (name) => ({ level: name }) },
      },
      { write: (line) => this.#add(this.#format === "json" ? line : asText(line)) },
    );
  }

  /** Changes the level and the format. */
  restyle({ level, format }: LogStyle): void {
    this.#pino.level = level;
    this.#format = format;
  }

  /** Reports whether events of this level are written; to be checked before composing expensive fields. */
  writes(level: LogLevel): boolean {
    return this.#pino.isLevelEnabled(level);
  }

  /** Writes the pending lines to the sink, one write at a time, so that lines keep their order. */
  async flush(): Promise<void> {
    if (this.#writing) return this.#writing;
    const [text, dropped] = [this.#pending, this.#dropped];
    this.#pending = "";
    this.#dropped = 0;
    if (dropped > 0) this.warn("log lines were dropped because the reader was too slow", { lines: dropped });
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

  /** Adds a line, or drops it when too much is pending. */
  #add(line: string): void {
    if (this.#pending.length > MAX_PENDING_CHARACTERS) this.#dropped++;
    else this.#pending += line;
  }

  #method(level: LogLevel): (message: string, fields?: LogFields) => void {
    return (message, fields = {}) => this.#pino[level](fields, message);
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

/** Returns the log's style from the settings. The format `auto` is text on a terminal and JSON otherwise. */
export function logStyle(
  { log_level, log_format }: Pick<Settings, "log_level" | "log_format">,
  terminal: boolean,
): LogStyle {
  const format = terminal ? "text" : "json";
  return { level: log_level, format: log_format === "auto" ? format : log_format };
}

/** The status of a request that exceeds the workspace's quota, which is not an error of the daemon. */
const WORKSPACE_FULL = 507;

/**
 * Returns the log level of a request. The audit trail has the operations, so by default the log shows only refused and
 * failed requests.
 */
export function levelOfStatus(status: number): LogLevel {
  if (status >= 500 && status !== WORKSPACE_FULL) return "error";
  return status >= 400 ? "info" : "debug";
}

/** The shortest time between two logs of the same warning, ms. */
const SAME_WARNING_MS = 60_000;

/** Returns a function that logs warnings, each at most once a minute. */
export function warnSparingly(logger: Logger, monotonicMs: () => number): (warning: string) => void {
  const loggedMs = new Map<string, number>();
  return (warning) => {
    const now = monotonicMs();
    if (now < (loggedMs.get(warning) ?? Number.NEGATIVE_INFINITY) + SAME_WARNING_MS) return;
    loggedMs.set(warning, now);
    logger.warn(warning);
  };
}
