/**
 * The body of a request that is refused before the client has sent all of it. If the connection closed at once, the
 * system would reset it, and a client that is still sending would see that instead of the answer (RFC 9112 section 9.6).
 *
 * On a connection that stays open, the runtime sends the answer at once and drops what still comes of the body, until
 * the idle timeout after the answer. So a refusal closes its connection only if it must. Then what still comes is
 * dropped here, before the end of the answer, with which the runtime closes the connection.
 */
import { atMost } from "../../timer.ts";

/**
 * A client that sends nothing for this long, ms, is done. A busy client, or one that loses packets, may pause for
 * seconds. The `lingering_timeout` of nginx is the same.
 */
const SILENCE_MS = 5_000;
/** The statuses of refusals and failures. */
const REFUSED = 400;

/** A request whose body others may read, and may leave unread. */
interface Lent {
  request: Request;
  /** Ends their reading. */
  takeBack(): void;
}

/** Whether the headers of a message say that the connection closes after it. */
export function closesConnection(headers: Headers): boolean {
  const connection = headers.get("connection");
  return connection !== null && /(?:^|,)[ \t]*close[ \t]*(?:,|$)/i.test(connection);
}

/** Returns a copy of a request with the same body. It is for those who would keep the request's own body for good. */
export function lend(request: Request): Lent {
  const reader = request.body?.getReader();
  if (reader === undefined) return { request, takeBack() {} };
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
  });
  return { request: new Request(request, { body }), takeBack: () => reader.releaseLock() };
}

/**
 * Returns the response to a request. If it refuses the request, and the connection closes with it, its body ends only
 * when the client has sent its own, is silent, or has sent for `mostMs`.
 * @param lent the request as it was handled, if that is not the request itself
 */
export function answerInStages(
  request: Request,
  response: Response,
  mostMs: number,
  lent: Lent | null = null,
): Response | Promise<Response> {
  if (response.status < REFUSED) return response;
  if (!closesConnection(response.headers) && !closesConnection(request.headers)) return response;
  const { body } = request;
  if (body === null || (lent === null && body.locked)) return response;
  return inStages(response, () => {
    lent?.takeBack();
    return atMost(mostMs, drop(body));
  });
}

/** Returns the response with its content sent at once, and its end after `wait`, which starts when it has the content. */
async function inStages(response: Response, wait: () => Promise<unknown>): Promise<Response> {
  const { status, headers } = response;
  const content = await response.bytes();
  return new Response(contentUntil(content, wait()), { status, headers });
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
