/** Reads a request's body: its media type, size and JSON. */

import { measureMetadata } from "../../../api/fields.ts";
import type { JsonObject } from "../../../json.ts";
import { invalid, Problem } from "../../../problem.ts";
import { ownTurn } from "../../../timer.ts";
import { PIECE, parseLargeJson } from "./large-json.ts";
import { JsonProblem, parseStrictJson } from "./strict-json.ts";

/** The default time for receiving a large body, ms. */
const DEFAULT_BODY_TIMEOUT_MS = 120_000;

/**
 * A declared body up to this size has no timer, which would cost time for every request. The runtime closes a
 * connection that makes no progress.
 */
const UNTIMED_BYTES = 64 * 1024;

/** The limits of a body. */
export interface BodyLimits {
  maxBodyBytes: number;
  /** The time for receiving a large body, ms. */
  bodyTimeoutMs?: number;
}

/** `application/json`, optionally with the only charset that JSON has (RFC 8259 section 8.1). */
const JSON_MEDIA_TYPE = /^application\/json[ \t]*(?:;[ \t]*charset[ \t]*=[ \t]*"?utf-8"?[ \t]*)?;?[ \t]*$/i;

/**
 * Reads the body of a request that must have one. Returns the runtime's own promise, since each further promise costs
 * time.
 * @throws {Problem} 415 when it is not JSON, 413 when it is too large, 408 when it is too slow
 */
export function readBody(request: Request, limits: BodyLimits): Promise<Uint8Array> {
  checkMediaType(request.headers.get("content-type"));
  return readBytes(request, limits);
}

/** Like {@link readBody}, for an optional body. An absent body has no bytes and needs no media type. */
export async function readOptionalBody(request: Request, limits: BodyLimits): Promise<Uint8Array> {
  const bytes = await readBytes(request, limits);
  if (bytes.length > 0) checkMediaType(request.headers.get("content-type"));
  return bytes;
}

/** Reads the fields of a form (`application/x-www-form-urlencoded`). @throws {Problem} 415, 413 */
export async function readForm(request: Request, limits: BodyLimits): Promise<URLSearchParams> {
  const mediaType = request.headers.get("content-type")?.split(";", 1)[0]?.trim().toLowerCase();
  if (mediaType !== "application/x-www-form-urlencoded") {
    throw new Problem("unsupported_media_type", "Send a form with Content-Type: application/x-www-form-urlencoded.", {
      param: "Content-Type",
    });
  }
  return new URLSearchParams(new TextDecoder().decode(await readBytes(request, limits)));
}

/**
 * Returns the JSON object in a body.
 * @throws {Problem} 400 when it is not I-JSON or not an object, 415 when it is compressed
 */
export function parseBody(bytes: Uint8Array, headers: Headers): JsonObject {
  try {
    return parseStrictJson(bytes);
  } catch (error) {
    throw refused(error, headers);
  }
}

/** As {@link parseBody}, with other requests served between the parts of a long list whose elements have metadata. */
export async function parseLargeBody(bytes: Uint8Array, headers: Headers): Promise<JsonObject> {
  try {
    return await parseLargeJson(bytes, { onElement: measureMetadata });
  } catch (error) {
    throw refused(error, headers);
  }
}

/** Returns the problem with a body that could not be parsed, or another error as it is. */
function refused(error: unknown, headers: Headers): unknown {
  if (!(error instanceof JsonProblem)) return error;
  if (!headers.has("content-encoding")) return invalid(error.message);
  return new Problem("unsupported_media_type", "Send the body without a Content-Encoding.", {
    param: "Content-Encoding",
    headers: { "accept-encoding": "identity" },
  });
}

function checkMediaType(mediaType: string | null): void {
  if (mediaType === "application/json") return;
  if (mediaType === null || !JSON_MEDIA_TYPE.test(mediaType)) {
    throw new Problem("unsupported_media_type", "Send the body as JSON with Content-Type: application/json.", {
      param: "Content-Type",
    });
  }
}

function readBytes(request: Request, limits: BodyLimits): Promise<Uint8Array> {
  const declared = request.headers.get("content-length");
  const { maxBodyBytes, bodyTimeoutMs = DEFAULT_BODY_TIMEOUT_MS } = limits;
  // The server reads exactly the declared length, so one comparison limits it.
  const length = declared === null ? null : Number(declared);
  if (length !== null && length > maxBodyBytes) throw tooLarge(maxBodyBytes);
  if (length !== null && length < PIECE)
    return length <= UNTIMED_BYTES ? request.bytes() : inTime(request.bytes(), bodyTimeoutMs);
  if (request.headers.has("trailer")) throw invalid("Send the body without trailers.", "Trailer");
  return request.body === null ? EMPTY_BODY : inTime(readStream(request.body, maxBodyBytes), bodyTimeoutMs);
}

const EMPTY_BODY = Promise.resolve(new Uint8Array());

/**
 * Reads a body that is long or of unknown length (chunked) to its end, or until it is too long. The runtime's own
 * reader would copy all received bytes of a long body each time its buffer is full.
 */
async function readStream(body: ReadableStream<Uint8Array>, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  // What is not read here may still be dropped (serve/http/unread-body.ts).
  for await (const chunk of body.values({ preventCancel: true })) {
    size += chunk.length;
    if (size > maxBytes) throw tooLarge(maxBytes);
    chunks.push(chunk);
  }
  return await concatenated(chunks, size);
}

/** Joins the chunks of a body. Other requests are served between the pieces of a long one. */
async function concatenated(chunks: readonly Uint8Array[], size: number): Promise<Uint8Array> {
  const bytes = Buffer.allocUnsafeSlow(size);
  let at = 0;
  let pause = PIECE;
  for (const chunk of chunks) {
    if (at >= pause) {
      await ownTurn();
      pause = at + PIECE;
    }
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}

async function inTime(reading: Promise<Uint8Array>, timeoutMs: number): Promise<Uint8Array> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(tooSlow(timeoutMs)), timeoutMs);
  try {
    return await Promise.race([reading, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

function tooLarge(maxBytes: number): Problem {
  return new Problem(
    "payload_too_large",
    `A body has at most ${maxBytes} bytes here. Send less at once: divide a batch into several requests.`,
  );
}

function tooSlow(timeoutMs: number): Problem {
  return new Problem(
    "request_timeout",
    `The body was not received within ${timeoutMs / 1_000} seconds. Send it again, faster.`,
  );
}
