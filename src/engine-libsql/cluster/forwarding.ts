/** Forwards requests to the node that serves their workspace, over mutual TLS. */

import { OUTCOME_UNKNOWN } from "../../core/writer/storage-failure.ts";
import { systemCode } from "../../failure.ts";
import { sendRequest } from "../../outbound.ts";
import { Problem } from "../../problem.ts";
import type { NodeIdentity } from "./identity.ts";

/** The header of a forwarded request with the address of the client. */
export const CLIENT_HEADER = "x-governd-client";
/**
 * The header of a forwarded request with the client's method. Every request is forwarded as a POST, since the runtime
 * silently sends requests of other methods a second time when a reused connection ends.
 */
const METHOD_HEADER = "x-governd-method";
/** Asks a node to refresh its copy of the file of the installation. */
export const REFRESH_PATH = "/node/refresh";
/** Asks a node whether it is alive. */
export const ALIVE_PATH = "/node/alive";

/** A body up to this length, bytes, is read first, so that it can be sent again when the connection fails. */
const SHORT_BODY = 64 * 1024;
/** How long a node may be silent before it is asked whether it is alive, and how long that answer may take, ms. */
const SILENCE_MS = 1_500;
const ALIVE_MS = 1_000;

/**
 * Headers that are not forwarded: those of one connection (RFC 9110 section 7.6.1), and those that the node sets
 * itself.
 */
const HOP_HEADERS = [
  "connection",
  "keep-alive",
  "transfer-encoding",
  "te",
  "upgrade",
  "proxy-connection",
  CLIENT_HEADER,
  METHOD_HEADER,
];

const NOT_SENT = new Set(["ConnectionRefused", "ECONNREFUSED", "FailedToOpenSocket", "EHOSTUNREACH", "ENOTFOUND"]);

const UNREACHABLE =
  "The node that serves this workspace cannot be reached just now; nothing was changed. Another one takes over within seconds. Try again shortly.";

const TOO_MANY =
  "This node passes on as many requests to other nodes as it may; nothing was changed. Try again shortly, or through another node.";

/** A forwarded request got no answer. */
export class NoNode extends Error {
  override readonly name = "NoNode";

  /** @param isSent whether the node may have carried out the request */
  constructor(readonly isSent: boolean) {
    super(isSent ? "the node gave no answer" : "the node cannot be reached");
  }
}

export class NodeClient {
  /** The number of requests whose answers were not forwarded completely. */
  #underWay = 0;

  /** @param most the most requests that are forwarded at the same time */
  constructor(
    public identity: NodeIdentity,
    private readonly most: number,
  ) {}

  /**
   * Sends a request with this body to another node.
   * @throws {NoNode}; {Problem} `unavailable` when too many are running
   */
  async forward(node: string, request: Request, body: ForwardedBody, client: string | null): Promise<Response> {
    const { pathname, search } = new URL(request.url);
    const headers = new Headers(request.headers);
    for (const name of HOP_HEADERS) headers.delete(name);
    headers.set(CLIENT_HEADER, client ?? "");
    headers.set(METHOD_HEADER, request.method);
    if (this.#underWay >= this.most) throw new Problem("unavailable", TOO_MANY);
    const ended = this.#begun();
    try {
      const sent = await this.#unlessSilent(node, {
        url: new URL(pathname + search, node).href,
        init: { method: "POST", headers, redirect: "manual", ...(body !== null && { body }) },
        aborted: request.signal,
      });
      const answered = new Headers(sent.headers);
      for (const name of HOP_HEADERS) answered.delete(name);
      // The runtime reads a body with a content length at once, even if nobody consumes it.
      const isStream = sent.body !== null && !sent.headers.has("content-length");
      if (!isStream) ended();
      return new Response(isStream ? untilEnd(sent.body, ended) : sent.body, {
        status: sent.status,
        headers: answered,
      });
    } catch (error) {
      ended();
      throw error;
    }
  }

  /** Counts a request as running. Returns the function that ends it, which may be called more than once. */
  #begun(): () => void {
    let isUnderWay = true;
    this.#underWay++;
    return () => {
      if (isUnderWay) this.#underWay--;
      isUnderWay = false;
    };
  }

  /** Asks another node to refresh its copy of the file of the installation. Returns whether it has. */
  async refresh(node: string, patienceMs: number): Promise<boolean> {
    try {
      const signal = AbortSignal.timeout(Math.max(1, patienceMs));
      return (await sendRequest(new URL(REFRESH_PATH, node).href, { ...this.#connection, method: "POST", signal })).ok;
    } catch {
      return false;
    }
  }

  /**
   * Fetches. Gives up only when the node does not even answer whether it is alive, since an operation may take long.
   */
  async #unlessSilent(
    node: string,
    { url, init, aborted }: { url: string; init: RequestInit; aborted: AbortSignal },
  ): Promise<Response> {
    const silent = new AbortController();
    const signal = AbortSignal.any([silent.signal, aborted]);
    // The client's own `User-Agent` is forwarded.
    const answer = fetch(url, { ...init, ...this.#connection, signal }).catch((error) => {
      throw new NoNode(!NOT_SENT.has(codeOf(error)));
    });
    for (;;) {
      const timer = Promise.withResolvers<null>();
      const timeout = setTimeout(() => timer.resolve(null), SILENCE_MS);
      const first = await Promise.race([answer, timer.promise]).finally(() => clearTimeout(timeout));
      if (first !== null) return first;
      if (await this.isAlive(node)) continue;
      answer.catch(() => {});
      silent.abort();
      throw new NoNode(true);
    }
  }

  /** Asks whether another node is there. */
  async isAlive(node: string): Promise<boolean> {
    try {
      return (
        await sendRequest(new URL(ALIVE_PATH, node).href, {
          ...this.#connection,
          signal: AbortSignal.timeout(ALIVE_MS),
        })
      ).ok;
    } catch {
      return false;
    }
  }

  get #connection() {
    const { cert, key, clientCa: ca } = this.identity;
    // A compressed body is forwarded as it is.
    return { decompress: false, tls: { cert, key, ca } };
  }
}

/** Returns the same bytes. Calls `ended` when they were read completely, or the reader has cancelled. */
function untilEnd(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  ended: () => void,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const reader = body.getReader();
  return new ReadableStream({
    type: "bytes",
    async pull(controller) {
      const { done, value } = await reader.read().catch((error) => {
        ended();
        throw error;
      });
      if (!done) return controller.enqueue(value);
      ended();
      controller.close();
    },
    cancel(reason) {
      ended();
      return reader.cancel(reason);
    },
  });
}

/** Returns a forwarded request as the client sent it. */
export function asSent(request: Request): Request {
  const method = request.headers.get(METHOD_HEADER) ?? "POST";
  if (method === "POST") return request;
  const { url, headers, signal } = request;
  const hasBody = method !== "GET" && method !== "HEAD";
  return new Request(url, { method, headers, signal, ...(hasBody && { body: request.body }) });
}

const codeOf = (error: unknown): string => systemCode(error) ?? (error as Error).name;

/** The body of a request to be forwarded. A long body is streamed, so it can be sent only once. */
type ForwardedBody = ArrayBuffer | ReadableStream<Uint8Array> | null;

export async function bodyOf(request: Request): Promise<ForwardedBody> {
  if (request.body === null) return null;
  const length = Number(request.headers.get("content-length") ?? Number.POSITIVE_INFINITY);
  return length <= SHORT_BODY ? await request.arrayBuffer() : request.body;
}

/** Returns the problem for the client of a request that could not be forwarded. */
export const notForwarded = (isSent: boolean): Problem =>
  isSent ? new Problem("outcome_unknown", OUTCOME_UNKNOWN) : new Problem("unavailable", UNREACHABLE);
