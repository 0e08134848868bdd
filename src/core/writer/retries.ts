/** Safe retries: the answer to a request with an `Idempotency-Key` is stored, and returned to its repetitions. */

import type { JsonObject } from "../../json.ts";
import type { MaybePromise, Reader, Transaction } from "../../store/transaction.ts";
import { wholeText } from "../long-text.ts";
import { answerBytes, findAnswer, insertAnswer } from "../rows/answers.ts";
import { type Answer, problem, type Reply, type Retry, unrecorded } from "./contract.ts";
import { JobFailed } from "./job.ts";

/** The longest body that is stored, bytes of UTF-8. */
export const MAX_STORED_BODY = 16 * 1024 * 1024;

export const ANOTHER_REQUEST =
  "This Idempotency-Key was sent with another request (method, path, query, precondition headers or body) in the last 24 hours. Use a new key for a new request.";
const ERASED =
  "This request was carried out before, and its answer is gone: data that it may have shown was erased or set aside. Read what you need, and use a new Idempotency-Key for a new request.";
const TOO_LARGE: Reply = unrecorded({
  kind: "problem",
  code: "invalid_request",
  detail: `The answer would have more than ${MAX_STORED_BODY} bytes, which is too large to be stored for retries. Nothing was done. Ask for less at once, or leave the Idempotency-Key out.`,
  extra: { param: "Idempotency-Key" },
});

/** Returns the stored reply for a key that was used before, or a refusal if the requests differ; null for a new key. */
export async function earlierReply(reader: Reader, retry: Retry, nowMs: number): Promise<Reply | null> {
  const found = await findAnswer(reader, retry, nowMs);
  if (found === undefined) return null;
  if (!found.same) return problem("idempotency_mismatch", ANOTHER_REQUEST);
  return found.body === null ? problem("idempotency_mismatch", ERASED) : readReply(found.reply, found.body);
}

/** Where and when an answer is stored. */
interface AnswerContext {
  nowMs: number;
  /** The most bytes of all stored answers of the workspace; 0 for no limit. */
  most: number;
  /** Returns the position of the newest event. */
  seq(): number;
}

/**
 * Performs an operation and stores its reply. Returns the stored reply if there is one already.
 * @throws {JobFailed} when the reply cannot be stored; the operation must then be undone
 */
export async function once(tx: Transaction, retry: Retry, place: AnswerContext, perform: () => MaybePromise<Reply>) {
  const refused = (await earlierReply(tx, retry, place.nowMs)) ?? (await noRoom(tx, place.most));
  if (refused !== null) return refused;
  const reply = await perform();
  // Temporary refusals are not stored, so that a repetition can succeed later.
  if (reply.auditId === null || reply.result === "denied") return reply;
  const { answer, parts: _, ...rest } = reply;
  const [head, body] = split(answer);
  if (Buffer.byteLength(body) > MAX_STORED_BODY) throw new JobFailed(TOO_LARGE);
  const text = JSON.stringify({ ...rest, firstRequestId: retry.requestId, answer: head });
  await insertAnswer(tx, retry, { reply: text, body }, { seq: place.seq(), nowMs: place.nowMs });
  return reply;
}

async function noRoom(reader: Reader, most: number): Promise<Reply | null> {
  const used = most === 0 ? 0 : await answerBytes(reader);
  if (most === 0 || used < most) return null;
  const detail = `The workspace stores ${used} of ${most} bytes of answers for retries, each for 24 hours. Leave out the Idempotency-Key, or ask the operator for a larger quota_answers.`;
  const extra = { quota: "answers", limit: most, used };
  return unrecorded({ kind: "problem", code: "quota_exceeded", detail, extra });
}

/** Divides an answer into a head without data of clients, and a body. */
function split(answer: Answer): [head: object, body: string] {
  switch (answer.kind) {
    case "json": {
      const { body, ...head } = answer;
      return [head, wholeText(body)];
    }
    case "problem": {
      const { extra = {}, ...head } = answer;
      return [head, JSON.stringify(extra)];
    }
    default:
      throw new Error(`an answer of kind ${answer.kind} cannot be stored`);
  }
}

function readReply(text: string, body: string): Reply {
  const reply = JSON.parse(text) as Reply;
  const { answer } = reply;
  if (answer.kind === "json") return { ...reply, answer: { ...answer, body } };
  if (answer.kind === "problem") return { ...reply, answer: { ...answer, extra: JSON.parse(body) as JsonObject } };
  throw new Error("a stored answer is neither JSON nor a problem");
}
