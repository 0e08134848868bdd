/** An HTTPS client that trusts one authority and sends one API key. */

import type { Confidences } from "./confidences.ts";

/** A request of a test. */
export interface Sent {
  /** By default GET without a body, and POST with one. */
  method?: string;
  path: string;
  query?: Record<string, string | number | boolean>;
  /** Sent as JSON; a string or bytes are sent unchanged. */
  body?: unknown;
  headers?: Record<string, string>;
  /** Replaces the client's key; null sends none. */
  key?: string | null;
  /**
   * Sends it over a connection of its own. When a reused connection ends, the runtime silently sends a request a second
   * time, unless it is a POST.
   */
  once?: true;
}

/** An answer with its body read. */
export interface Answered {
  status: number;
  headers: Headers;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every form
  json: any;
}

/** The most operations of one batch. */
const MOST_OPERATIONS = 1_000;

export class Client {
  constructor(
    readonly url: string,
    readonly ca: string,
    readonly apiKey: string,
    /** Records what is sent, so that a test can check that it is never repeated. */
    readonly confidences: Confidences | null = null,
  ) {}

  async send(sent: Sent): Promise<Answered> {
    const response = await this.open(sent);
    const text = await response.text();
    const isJson = /^application\/(problem\+)?json/.test(response.headers.get("content-type") ?? "");
    return {
      status: response.status,
      headers: response.headers,
      text,
      json: isJson && text !== "" ? JSON.parse(text) : null,
    };
  }

  /** Sends a request. Returns the answer, whose body is still to be read. */
  open(sent: Sent): Promise<Response> {
    const headers: Record<string, string> = { ...sent.headers };
    const key = sent.key === undefined ? this.apiKey : sent.key;
    if (key !== null) headers["x-api-key"] = key;
    this.confidences?.note(sent, key);
    const body = bodyOf(sent.body);
    if (body !== undefined) headers["content-type"] ??= "application/json";
    const search = new URLSearchParams(
      Object.entries(sent.query ?? {}).map(([name, value]): [string, string] => [name, String(value)]),
    ).toString();
    return fetch(this.url + sent.path + (search === "" ? "" : `?${search}`), {
      method: methodOf(sent),
      headers,
      ...(body === undefined ? {} : { body }),
      tls: { ca: this.ca },
      ...(sent.once && methodOf(sent) !== "POST" && { keepalive: false }),
    });
  }

  get(path: string, query: NonNullable<Sent["query"]> = {}): Promise<Answered> {
    return this.send({ path, query });
  }

  post(path: string, body: unknown): Promise<Answered> {
    return this.send({ path, body });
  }

  /** PUT /v1/config of an agent. */
  configure(agentId: string, config: unknown, headers: Record<string, string> = {}): Promise<Answered> {
    return this.send({ method: "PUT", path: `/v1/config/${agentId}`, body: config, headers });
  }

  write(agentId: string, key: string, value: string, metadata?: unknown): Promise<Answered> {
    const body = { agent_id: agentId, key, value };
    return this.post("/v1/data/write", metadata === undefined ? body : { ...body, metadata });
  }

  /** Writes many entries of an agent in batches, since a request for each would take longer than what is tested. */
  async writeAll(agentId: string, entries: readonly { key: string; value: string }[]): Promise<void> {
    for (let at = 0; at < entries.length; at += MOST_OPERATIONS) {
      const operations = entries.slice(at, at + MOST_OPERATIONS).map((entry) => ({ op: "write", ...entry }));
      const { status, json } = await this.post("/v1/data/batch", { agent_id: agentId, operations });
      if (status !== 200 || json.applied !== true)
        throw new Error(`the batch was not applied: ${JSON.stringify(json)}`);
    }
  }

  read(agentId: string, key: string): Promise<Answered> {
    return this.get("/v1/data/read", { agent_id: agentId, key });
  }

  checkpoint(agentId: string, rest: object = {}): Promise<Answered> {
    return this.post("/v1/checkpoints", { agent_id: agentId, ...rest });
  }

  delete(path: string, query: NonNullable<Sent["query"]> = {}): Promise<Answered> {
    return this.send({ method: "DELETE", path, query });
  }
}

/** Returns the method of a request: by default GET without a body, and POST with one. */
export const methodOf = ({ method, body }: Sent): string => method ?? (body === undefined ? "GET" : "POST");

function bodyOf(body: unknown): string | Uint8Array<ArrayBuffer> | undefined {
  if (body === undefined || typeof body === "string") return body;
  if (body instanceof Uint8Array) return body as Uint8Array<ArrayBuffer>;
  return JSON.stringify(body);
}
