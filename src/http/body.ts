/** Reading a request's body: its media type, its size, its JSON. */
import type { JsonObject } from "../json.ts";
import { invalid, Problem } from "./problem.ts";
import { JsonProblem, parseStrictJson } from "./strict-json.ts";

/** Largest body by default, in bytes. */
export const DEFAULT_MAX_BODY_BYTES = 2 * 1024 * 1024;

/** `application/json`, optionally with the only charset that JSON has (RFC 8259 section 8.1). */
const JSON_MEDIA_TYPE = /^application\/json[ \t]*(?:;[ \t]*charset[ \t]*=[ \t]*"?utf-8"?[ \t]*)?;?[ \t]*$/i;

/**
 * The JSON object that a request carries.
 * @throws {Problem} 415 for another media type, 413 past `maxBytes`, 400 for what is not I-JSON.
 */
export async function readJsonBody(request: Request, maxBytes: number): Promise<JsonObject> {
  const { headers } = request;
  checkMediaType(headers.get("content-type"));
  const bytes = await readBytes(request, headers.get("content-length"), maxBytes);
  return parse(bytes);
}

/** Like {@link readJsonBody}, for a body that may be left out: null then. */
export async function readOptionalJsonBody(request: Request, maxBytes: number): Promise<JsonObject | null> {
  const mediaType = request.headers.get("content-type");
  const bytes = await readBytes(request, request.headers.get("content-length"), maxBytes);
  if (bytes.length === 0) return null;
  checkMediaType(mediaType);
  return parse(bytes);
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

function parse(bytes: Uint8Array): JsonObject {
  try {
    return parseStrictJson(bytes);
  } catch (error) {
    if (error instanceof JsonProblem) throw invalid(error.message);
    throw error;
  }
}

function readBytes(request: Request, declared: string | null, maxBytes: number): Promise<Uint8Array> {
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
