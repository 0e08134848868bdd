/** Starts the real server over TLS on a free port, with a workspace in memory behind it. */
import type { RequestLogEntry } from "../../../src/serve/http/pipeline/exchange.ts";
import type { AppDeps } from "../../../src/serve/http/pipeline/pipeline.ts";
import { type ListenOptions, type RunningServer, startServer } from "../../../src/serve/http/server.ts";
import { makeCertificate } from "./certificate.ts";
import { KEYS, MemoryWorkspace } from "./memory-workspace.ts";

/** A request of a test; `key` null sends no API key. */
export interface Sent {
  method?: string;
  path: string;
  key?: string | null;
  headers?: Record<string, string>;
  /** Sent as JSON; a string or bytes are sent unchanged. */
  body?: unknown;
}

/** An answer with its body read. */
export interface Answered {
  status: number;
  headers: Headers;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every form
  json: any;
}

export class TestServer implements AsyncDisposable {
  readonly workspace = new MemoryWorkspace();
  readonly logged: RequestLogEntry[] = [];
  readonly internalErrors: unknown[] = [];
  readonly running: RunningServer;
  ready = true;

  constructor(tls: ListenOptions["tls"], changes: Partial<AppDeps> = {}, listen: Partial<ListenOptions> = {}) {
    this.running = startServer(
      {
        workspaces: this.workspace,
        authenticate: (key) => (Object.hasOwn(KEYS, key) ? (KEYS[key] ?? null) : null),
        isReady: () => ({ ready: this.ready, workspacesDown: 0 }),
        log: (entry) => void this.logged.push(entry),
        onInternalError: (error) => void this.internalErrors.push(error),
        monotonicMs: () => performance.now(),
        randomBytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
        maxBodyBytes: 4 * 1024 * 1024,
        ...changes,
      },
      { hostname: "127.0.0.1", port: 0, tls, ...listen },
    );
    this.#tls = tls !== null;
  }

  readonly #tls: boolean;

  get url(): string {
    return `${this.#tls ? "https" : "http"}://127.0.0.1:${this.running.port}`;
  }

  async send(sent: Sent): Promise<Answered> {
    const headers: Record<string, string> = { ...sent.headers };
    const key = sent.key === undefined ? "full-key" : sent.key;
    if (key !== null) headers["x-api-key"] = key;
    const body = bodyOf(sent.body);
    if (body !== undefined) headers["content-type"] ??= "application/json";
    const response = await fetch(this.url + sent.path, {
      method: sent.method ?? (body === undefined ? "GET" : "POST"),
      headers,
      ...(body === undefined ? {} : { body }),
      tls: { rejectUnauthorized: false },
    });
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.includes("json") === true && text !== "";
    return { status: response.status, headers: response.headers, text, json: isJson ? JSON.parse(text) : null };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.running.stop(true);
  }
}

function bodyOf(body: unknown): string | Uint8Array<ArrayBuffer> | undefined {
  if (body === undefined || typeof body === "string") return body;
  if (body instanceof Uint8Array) return body as Uint8Array<ArrayBuffer>;
  return JSON.stringify(body);
}

/** A server over TLS. */
export async function serveTls(changes?: Partial<AppDeps>, listen?: Partial<ListenOptions>): Promise<TestServer> {
  return new TestServer(await makeCertificate(), changes, listen);
}
