/**
 * The body of a request that is answered before the client has sent all of it, because it is refused. If the connection
 * closed at once, the system would reset it, and a client that is still sending would see that instead of the answer
 * (RFC 9112 section 9.6).
 *
 * On a connection that stays open, the runtime sends the answer at once and drops what still comes of the body, until
 * the idle timeout after the answer. So an answer closes its connection only if it must. Then what still comes is
 * dropped here, before the end of the answer, with which the runtime closes the connection.
 */
import { atMost } from "../timer.ts";

/** A client that is silent for this long, ms, counts as one that sends no more. */
const SILENCE_MS = 1_000;

/**
 * Returns the response to a request. If the connection closes with it, its body ends only when the client has sent its
 * own, is silent, or has sent for `mostMs`.
 */
export function answerInStages(request: Request, response: Response, mostMs: number): Response | Promise<Response> {
  if (!closes(response.headers) && !closes(request.headers)) return response;
  const { body } = request;
  if (body === null || body.locked) return response;
  return inStages(response, atMost(mostMs, drop(body)));
}

/** Whether the headers of a message say that the connection closes after it. */
function closes(headers: Headers): boolean {
  const connection = headers.get("connection");
  return connection !== null && /(?:^|,)[ \t]*close[ \t]*(?:,|$)/i.test(connection);
}

async function inStages(response: Response, dropped: Promise<unknown>): Promise<Response> {
  const { status, headers } = response;
  const content = await response.bytes();
  if (content.length > 0) return new Response(contentUntil(content, dropped), { status, headers });
  await dropped;
  return new Response(null, { status, headers });
}

async function* contentUntil(content: Uint8Array, end: Promise<unknown>) {
  yield content;
  await end;
}

/** Reads a body until it ends or makes no progress, or the connection ends. */
async function drop(body: ReadableStream<Uint8Array>): Promise<void> {
  const reader = body.getReader();
  try {
    for (;;) {
      const next = await atMost(SILENCE_MS, reader.read());
      if (next === undefined || next.done) return;
    }
  } catch (error) {
    if (!(error instanceof Error) || error.name !== "AbortError") throw error;
  }
}
