/** Runs governd in a child process with its own environment. */
import { join } from "node:path";
import { ended } from "../ended.ts";
import { PATIENCE_MS } from "../patience.ts";
import { engineEnvironment } from "../support/engine.ts";
import { ensureServer } from "../support/own-server.ts";
import type { Outcome } from "./governd.ts";

const ROOT = join(import.meta.dir, "../..");
const MAIN = join(ROOT, "src/main.ts");

const { TESTED_BINARY: TESTED } = process.env;

/** Runs the source with Bun. */
export const FROM_SOURCE: readonly string[] = [process.execPath, MAIN];

/** What to run unless a test says otherwise: the binary of `npm test`, which starts in half the time, or the source. */
export const GOVERND: readonly string[] = TESTED === undefined ? FROM_SOURCE : [join(ROOT, TESTED)];

export interface RunOptions {
  program?: readonly string[];
  cwd?: string;
  env?: Record<string, string>;
}

/** Runs a command to its end in a child process. */
export async function governdProcess(words: readonly string[], options: RunOptions = {}): Promise<Outcome> {
  const { program = GOVERND, cwd, env = {} } = options;
  const child = Bun.spawn([...program, ...words], {
    ...(cwd ? { cwd } : {}),
    env: { ...engineEnvironment(words), ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const { out, err, code } = await ended(child);
  return { code, out, err, json: () => JSON.parse(out) };
}

/** What the daemon prints when it is ready. */
interface Ready {
  address: string;
  ca_file: string | null;
  data_dir: string;
  next?: string;
  /** Where metrics are served; absent without `metrics_listen`. */
  metrics?: string;
  /** The one-time link to the first account, while there is none. */
  sign_up_url?: string;
}

/** A daemon as a process. */
export interface RunningDaemon extends AsyncDisposable {
  pid: number;
  url: string;
  ready: Ready;
  /** Returns what the daemon has logged so far. */
  said(): string;
  /** Sends a signal and waits for the end of the process. */
  stop(signal?: NodeJS.Signals): Promise<{ code: number | null; err: string }>;
  /** Waits for a process that is about to end. */
  ended(): Promise<{ code: number | null; err: string }>;
  /** Sends a signal without waiting for its effect. */
  signal(signal: NodeJS.Signals): void;
  /** Sends a request to the API, and trusts the daemon's own authority. */
  ask(path: string, init?: RequestInit & { apiKey?: string }): Promise<Response>;
}

/** Starts a daemon on a free port and waits until it is ready. */
export async function startGovernd(
  dataDir: string,
  words: readonly string[] = [],
  options: RunOptions = {},
): Promise<RunningDaemon> {
  const { program = GOVERND, cwd, env = {} } = options;
  if (!words.includes("--engine")) await ensureServer(dataDir);
  const listen = words.includes("--listen") ? [] : ["--listen", "127.0.0.1:0"];
  // As in this process (test/support/daemon.ts), unless the test says more about settings.
  const threads = words.includes("--threads") || words.includes("--config") ? [] : ["--threads", "1"];
  // A state root would be an event that no request of a test makes.
  const hasOwn = words.includes("--state-roots") || words.includes("--config") || cwd !== undefined;
  const roots = hasOwn ? [] : ["--state-roots", "off"];
  const stated = ["--data-dir", dataDir, ...listen, ...threads, ...roots, "--log-format", "json", ...words];
  const child = Bun.spawn([...program, "serve", ...stated], {
    ...(cwd ? { cwd } : {}),
    env: { ...engineEnvironment(dataDir), ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const log = follow(child.stderr);
  const ready = await firstLine(child.stdout).catch(async (error) => {
    child.kill("SIGKILL");
    throw new Error(`${error}; it said: ${await log.whole}`);
  });
  const ca = ready.ca_file ? await Bun.file(ready.ca_file).text() : undefined;
  const daemon: RunningDaemon = {
    pid: child.pid,
    url: ready.address,
    ready,
    said: () => log.text,
    signal: (signal) => child.kill(signal),
    stop(signal = "SIGTERM") {
      child.kill(signal);
      return daemon.ended();
    },
    async ended() {
      await child.exited;
      return { code: child.exitCode, err: await log.whole };
    },
    ask(path, { apiKey, ...init } = {}) {
      const headers = new Headers(init.headers);
      if (apiKey) headers.set("x-api-key", apiKey);
      if (init.body) headers.set("content-type", "application/json");
      return fetch(`${ready.address}${path}`, { ...init, headers, ...(ca ? { tls: { ca } } : {}) });
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
  return daemon;
}

/** Returns the text that a stream has sent so far, and a promise of all of it. */
function follow(stream: ReadableStream<Uint8Array>): { text: string; whole: Promise<string> } {
  const followed = { text: "", whole: Promise.resolve("") };
  followed.whole = (async () => {
    const decoder = new TextDecoder();
    for await (const piece of stream) followed.text += decoder.decode(piece, { stream: true });
    return followed.text;
  })();
  return followed;
}

async function firstLine(stream: ReadableStream<Uint8Array>): Promise<Ready> {
  const decoder = new TextDecoder();
  const reader = stream.getReader();
  const timer = setTimeout(() => reader.cancel(), PATIENCE_MS);
  let text = "";
  while (!text.includes("\n")) {
    const { value, done } = await reader.read();
    if (done) throw new Error("the daemon did not start");
    text += decoder.decode(value, { stream: true });
  }
  clearTimeout(timer);
  return JSON.parse(text.slice(0, text.indexOf("\n")));
}
