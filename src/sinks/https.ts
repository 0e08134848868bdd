/** One request to a receiver over HTTPS. Redirects are not followed: they would lead past the allowed places. */
import { type RequestOptions, request } from "node:https";
import { systemCode } from "../failure.ts";
import { hostOf } from "./allowed.ts";
import { type SinkConfig, SinkFailed } from "./config.ts";
import type { ReceiverDeps } from "./receiver.ts";

/** The most bytes of an answer that are read. */
const MAX_ANSWER_BYTES = 64 * 1024;
/** The longest that a receiver can ask to wait, ms. */
const MAX_RETRY_AFTER_MS = 60 * 60_000;
export const HTTPS_PORT = 443;

type Endpoint = Pick<SinkConfig, "url" | "ca" | "clientCertificate" | "clientKey">;

/** Returns the options of a TLS connection to a receiver. */
const tlsOptions = ({ ca, clientCertificate: cert, clientKey: key }: Omit<Endpoint, "url">) => ({
  ...(ca === null ? {} : { ca }),
  ...(cert === null ? {} : { cert }),
  ...(key === null ? {} : { key }),
});

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
  const host = hostOf(url);
  const port = Number(url.port || HTTPS_PORT);
  // A socket resolves no address, so one in the URL is checked here.
  await allowed.addressesOf(host, port);
  const { status, retryAfter, text } = await exchange(
    {
      host,
      port,
      method: "POST",
      path: `${url.pathname}${url.search}`,
      headers: { ...headers, host: url.host, "content-length": `${body.byteLength}` },
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

/** Returns what a `Retry-After` asks for: seconds or a date (RFC 9110 section 10.2.3). */
function waitOf(retryAfter: string | undefined, nowMs: number): number | null {
  if (retryAfter === undefined) return null;
  const ms = /^\d{1,9}$/.test(retryAfter) ? Number(retryAfter) * 1_000 : Date.parse(retryAfter) - nowMs;
  return Number.isNaN(ms) ? null : Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS);
}

/** Words for the errors that an operator can do something about. */
const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nobody listens at the receiver's address",
  ConnectionRefused: "nobody listens at the receiver's address",
  ECONNRESET: "the receiver closed the connection",
  EHOSTUNREACH: "there is no route to the receiver",
  ENETUNREACH: "there is no route to the receiver",
  ETIMEDOUT: "the receiver does not answer",
  ABORT_ERR: "the receiver did not answer in time",
  ERR_TLS_CERT_ALTNAME_INVALID: "the receiver's certificate is for another name",
  CERT_HAS_EXPIRED: "the receiver's certificate has expired",
};

/** Returns why a connection failed. Of other errors only the code is told: their messages may repeat an address. */
function reasonOf(error: unknown): string {
  const code = systemCode(error) ?? (error instanceof Error ? error.name : "unknown");
  const known = REASONS[code];
  if (known !== undefined) return known;
  if (/CERT|SIGNATURE|ISSUER/.test(code)) return `the receiver's certificate cannot be verified (${code}): set "ca"`;
  return `the connection failed (${code})`;
}
