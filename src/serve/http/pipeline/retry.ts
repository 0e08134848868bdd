/** `Idempotency-Key`: identifies a request, so that its repetition is recognised. */
import { createHash, type Hash } from "node:crypto";
import { PRECONDITION_HEADERS } from "../../../api/precondition.ts";
import type { AnyRoute } from "../../../api/route.ts";
import type { Principal, Retry } from "../../../core/writer/contract.ts";
import { invalid } from "../../../problem.ts";
import { ownTurn } from "../../../timer.ts";
import type { Exchange } from "./exchange.ts";
import { PIECE } from "./large-json.ts";

const HEADER = "Idempotency-Key";

/** Visible ASCII. The runtime joins several headers with a comma and a space, so they do not match. */
const KEY = /^[\x21-\x7e]{1,255}$/;

/** The bytes of a digest that identify a retry: enough that nobody finds two keys with equal ones. */
const ID_BYTES = 16;

/**
 * Returns the key of a request; null without one. A read is safe to repeat anyway, so its key is ignored.
 * @throws {Problem} for a malformed key, and for a request whose answer cannot be stored
 */
export function retryKey(
  { method, retryable, response }: Pick<AnyRoute, "method" | "retryable" | "response">,
  headers: Headers,
): string | null {
  if (method === "GET" && response.streamed !== true) return null;
  const key = headers.get(HEADER);
  if (key === null) return null;
  if (!retryable || method === "GET") throw notStored();
  if (!KEY.test(key))
    throw invalid("Send one Idempotency-Key of 1 to 255 visible ASCII characters, such as a UUID.", HEADER);
  return key;
}

const notStored = () =>
  invalid(
    "The answer of this operation is never stored, since it may be long, or show what nothing else keeps. Leave the header out.",
    HEADER,
  );

/**
 * Returns what the workspace stores about a request with this key. The key itself is not stored. It is part of the
 * request's digest, so that nobody without the key can check a guessed body against the digest.
 */
export function retryOf(key: string, asked: RetryContext, body: Uint8Array): Retry {
  return named(key, asked, begun(key, asked.request).update(body));
}

/** As {@link retryOf}, with other requests served between the pieces of a large body. */
export async function retryOfLarge(key: string, asked: RetryContext, body: Uint8Array): Promise<Retry> {
  const hash = begun(key, asked.request);
  for (let at = 0; at < body.length; at += PIECE) {
    if (at > 0) await ownTurn();
    hash.update(body.subarray(at, at + PIECE));
  }
  return named(key, asked, hash);
}

interface RetryContext {
  request: Request;
  exchange: Exchange;
  principal: Principal;
}

/** The digest of a request, without its body. */
function begun(key: string, { headers, method, url }: Request): Hash {
  const preconditions = PRECONDITION_HEADERS.map((name) => headers.get(name) ?? "");
  const head = [key, method, url.slice(url.indexOf("/", url.indexOf("//") + 2)), ...preconditions];
  return createHash("sha256").update(`${head.join("\n")}\n`);
}

function named(key: string, { exchange, principal }: RetryContext, request: Hash): Retry {
  const id = createHash("sha256").update(`${principal.actor}\n${key}`).digest().toHex();
  return { id: id.slice(0, 2 * ID_BYTES), request: request.digest("hex"), requestId: exchange.requestId };
}
