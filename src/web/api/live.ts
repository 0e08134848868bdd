/**
 * New audit events as they happen, from `GET /v1/audit/stream` (server-sent events). It uses `fetch`,
 * since `EventSource` cannot send the workspace's header. One stream serves the whole page.
 */
import { isCode, send } from "./client.ts";
import { returned } from "./reach.ts";
import type { AuditEvent } from "./types.ts";

/** The backoff between attempts: doubles after each failure, from the first to the last. */
const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 30_000;

/** The daemon sends something every 15 seconds. After this silence the connection counts as dead. */
const SILENCE_MS = 40_000;

export type LiveState = "connecting" | "live" | "waiting";

interface LiveOptions {
  workspace: string;
  onEvent(event: AuditEvent): void;
  onState(state: LiveState): void;
  /** Events may have been missed, so views should reload. */
  onGap(): void;
}

/** Listens until the returned function is called. */
export function listen(options: LiveOptions): () => void {
  const stopped = new AbortController();
  void run(options, stopped.signal);
  return () => stopped.abort();
}

async function run(options: LiveOptions, stopped: AbortSignal): Promise<void> {
  let lastId: string | null = null;
  let retryMs = FIRST_RETRY_MS;
  while (!stopped.aborted) {
    options.onState("connecting");
    try {
      for await (const message of messages(options.workspace, lastId, stopped, () => options.onState("live"))) {
        retryMs = FIRST_RETRY_MS;
        if (message.id !== "") lastId = message.id;
        if (message.data !== "") options.onEvent(JSON.parse(message.data) as AuditEvent);
      }
    } catch (error) {
      // Other errors, such as an ended session, show up in the next attempt or in the page itself.
      if (isCode(error, "audit_event_not_found")) lastId = null;
    }
    if (stopped.aborted) return;
    if (lastId === null) options.onGap();
    options.onState("waiting");
    await pause(retryMs, stopped);
    retryMs = Math.min(retryMs * 2, LAST_RETRY_MS);
  }
}

/** One message of a stream. */
interface Message {
  id: string;
  data: string;
}

async function* messages(
  workspace: string,
  lastId: string | null,
  stopped: AbortSignal,
  onOpen: () => void,
): AsyncGenerator<Message> {
  const silent = new AbortController();
  let timer = 0;
  const heard = () => {
    clearTimeout(timer);
    timer = setTimeout(() => silent.abort(), SILENCE_MS) as unknown as number;
  };
  heard();
  try {
    const response = await send("/v1/audit/stream", {
      workspace,
      query: { scope: "workspace" },
      headers: { accept: "text/event-stream", ...(lastId === null ? {} : { "last-event-id": lastId }) },
      signal: AbortSignal.any([stopped, silent.signal]),
    });
    if (response.body === null) return;
    onOpen();
    const lines = new MessageReader();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      heard();
      yield* lines.push(value);
    }
  } finally {
    clearTimeout(timer);
  }
}

/** Splits a stream's text into messages (HTML standard, section 9.2.6). */
export class MessageReader {
  #rest = "";
  #message: Message = { id: "", data: "" };

  *push(text: string): Generator<Message> {
    const all = this.#rest + text;
    // A carriage return at the end may be the first half of a CRLF.
    const lines = all.split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line === "") {
        const message = this.#message;
        this.#message = { id: "", data: "" };
        if (message.data !== "" || message.id !== "") yield message;
      } else {
        this.#field(line);
      }
    }
  }

  #field(line: string): void {
    const [, name, value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (name === "data") this.#message.data += this.#message.data === "" ? value : `\n${value}`;
    else if (name === "id") this.#message.id = value;
  }
}

/** Waits, but not longer than the daemon is away. */
async function pause(ms: number, stopped: AbortSignal): Promise<void> {
  const back = new AbortController();
  const before = returned.peek();
  const unsubscribe = returned.subscribe((times) => times > before && back.abort());
  const over = AbortSignal.any([stopped, back.signal, AbortSignal.timeout(ms)]);
  await new Promise((resolve) => over.addEventListener("abort", resolve));
  unsubscribe();
}
