/** Reading a request's body: its media type, its size, its JSON. */
import type { JsonObject } from "../json.ts";
import { invalid, Problem } from "./problem.ts";
import { JsonProblem, parseStrictJson } from "./strict-json.ts";

/** Largest body by default, in bytes. */
export const DEFAULT_MAX_BODY_BYTES = 2 * 1024 * 1024;

/** `application/json`, optionally with the only charset that JSON has (RFC 8259 section 8.1). */
const JSON_MEDIA_TYPE = /^application\/json[ \t]*(?:;[ \t]*charset[ \t]*=[ \t]*"?utf-8"?[ \t]*)?;?[ \t]*$/i;

/**
 * Reads the body of a request that must have one. What can be refused by its headers is refused at
 * once; the promise is the runtime's own, since every further one costs each request time.
 * @throws {Problem} 415 for another media type than JSON, 413 past `maxBytes`.
 */
export function readBody(request: Request, maxBytes: number): Promise<Uint8Array> {
  checkMediaType(request.headers.get("content-type"));
  return readBytes(request, maxBytes);
}

/** Like {@link readBody}, for a body that may be left out: no bytes then, and no media type needed. */
export async function readOptionalBody(request: Request, maxBytes: number): Promise<Uint8Array> {
  const bytes = await readBytes(request, maxBytes);
  if (bytes.length > 0) checkMediaType(request.headers.get("content-type"));
  return bytes;
}

/**
 * The JSON object that a body is.
 * @throws {Problem} 400 for what is not I-JSON or not an object, 415 when it is compressed.
 */
export function parseBody(bytes: Uint8Array, headers: Headers): JsonObject {
  try {
    return parseStrictJson(bytes);
  } catch (error) {
    if (!(error instanceof JsonProblem)) throw error;
    if (headers.has("content-encoding")) {
      throw new Problem("unsupported_media_type", "Send the body without a Content-Encoding.", {
        param: "Content-Encoding",
        headers: { "accept-encoding": "identity" },
      });
    }
    throw invalid(error.message);
  }
}

function checkMediaType(mediaType: string | null): void {
  if (mediaType === "application/json") return;
  if (mediaType === null || !JSON_MEDIA_TYPE.test(mediaType)) {
    throw new Problem(
      "unsupported_media_type",
      "Send the body as JSON with Content-Type: application/json.",
      {
        param: "Content-Type",
      },
    );
  }
}

function readBytes(request: Request, maxBytes: number): Promise<Uint8Array> {
  const declared = request.headers.get("content-length");
  // With a declared length the server reads exactly that much, so one comparison bounds it.
  if (declared === null) return readStream(request, maxBytes);
  if (Number(declared) > maxBytes) throw tooLarge(maxBytes);
  return request.bytes();
}

/** A body of unknown length (chunked): read until its end or until it is too long. */
async function readStream(request: Request, maxBytes: number): Promise<Uint8Array> {
  if (request.body === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body as unknown as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > maxBytes) throw tooLarge(maxBytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function tooLarge(maxBytes: number): Problem {
  return new Problem("payload_too_large", `Send a body of at most ${maxBytes} bytes.`, {
    // What is left of the body is not worth reading.
    headers: { connection: "close" },
  });
}
