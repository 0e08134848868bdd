/** Sends a request to a receiver over HTTPS. Redirects are not followed, since they could bypass the allowed places. */
import { type RequestOptions, request } from "node:https";
import { USER_AGENT } from "../../outbound.ts";
import { endpointOf, HTTPS_PORT } from "./addresses.ts";
import { SinkFailed } from "./config.ts";
import type { ReceiverDeps } from "./receiver.ts";
import { type Endpoint, reasonOf, tlsOptions } from "./tls.ts";

/** The most bytes of an answer that are read. */
const MAX_ANSWER_BYTES = 64 * 1024;
/** The longest time that a receiver can ask to wait, ms. */
const MAX_RETRY_AFTER_MS = 60 * 60_000;

/**
 * Posts a body. Returns the text of the answer.
 * @throws {SinkFailed} when the receiver cannot be reached, or does not answer with a status of success
 */
export async function post(
  receiver: Endpoint,
  headers: Readonly<Record<string, string>>,
  body: Uint8Array,
  { allowed, clock }: ReceiverDeps,
  signal: AbortSignal,
): Promise<string> {
  const url = new URL(receiver.url);
  const { host, port } = endpointOf(url, HTTPS_PORT);
  // A socket does not look up an IP address, so an address in the URL is checked here.
  await allowed.addressesOf(host, port);
  const { status, retryAfter, text } = await exchange(
    {
      host,
      port,
      method: "POST",
      path: `${url.pathname}${url.search}`,
      headers: { ...headers, "user-agent": USER_AGENT, host: url.host, "content-length": `${body.byteLength}` },
      lookup: allowed.lookupFor(port),
      agent: false,
      signal,
      ...tlsOptions(receiver),
    },
    body,
  );
  if (status >= 200 && status < 300) return text;
  if (status >= 300 && status < 400)
    throw new SinkFailed(`the receiver answered ${status}: redirects are not followed, so name the final address`);
  throw new SinkFailed(`the receiver answered ${status}`, waitOf(retryAfter, clock()), status === 410);
}

interface Answered {
  status: number;
  retryAfter: string | undefined;
  text: string;
}

function exchange(options: RequestOptions, body: Uint8Array): Promise<Answered> {
  const { promise, resolve, reject } = Promise.withResolvers<Answered>();
  const fail = (error: unknown) => reject(error instanceof SinkFailed ? error : new SinkFailed(reasonOf(error)));
  const sent = request(options, (response) => {
    const pieces: Buffer[] = [];
    let bytes = 0;
    response.on("data", (piece: Buffer) => {
      bytes += piece.length;
      if (bytes <= MAX_ANSWER_BYTES) pieces.push(piece);
    });
    response.on("error", fail);
    response.on("end", () =>
      resolve({
        status: response.statusCode ?? 0,
        retryAfter: response.headers["retry-after"],
        text: Buffer.concat(pieces).toString(),
      }),
    );
    response.on("close", () => fail(new SinkFailed("the connection was closed before the answer was complete")));
  });
  sent.on("error", fail);
  sent.end(body);
  return promise;
}

/** Returns the wait of a `Retry-After`, ms: seconds or a date (RFC 9110 section 10.2.3); null for none. */
function waitOf(retryAfter: string | undefined, nowMs: number): number | null {
  if (retryAfter === undefined) return null;
  const ms = /^\d{1,9}$/.test(retryAfter) ? Number(retryAfter) * 1_000 : Date.parse(retryAfter) - nowMs;
  return Number.isNaN(ms) ? null : Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS);
}
