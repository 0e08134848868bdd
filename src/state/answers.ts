/**
 * Stored answers of requests with an `Idempotency-Key`. A row is made in the transaction of the operation that it
 * answers, and counts for 24 hours.
 */
import type { Reader, Transaction } from "../store/transaction.ts";

/** How long an answer is stored, ms. */
const ANSWERS_KEPT_MS = 24 * 60 * 60 * 1_000;

/** About what a row takes besides its texts, with its index, bytes. */
const ROW_BYTES = 128;

/** A request with an `Idempotency-Key`. Both are hex. */
export interface RetryId {
  /** Names who asked and the key. */
  id: string;
  /** The digest of the key and the request. */
  request: string;
}

/** An answer as it is stored: JSON texts. */
interface StoredAnswer {
  /** Whether it is the answer to the same request. */
  same: boolean;
  reply: string;
  /** Null when data that it may have shown was erased. */
  body: string | null;
}

/** Returns the answer that is stored for a request, or for another one with the same key; undefined when there is none. */
export async function findAnswer(reader: Reader, { id, request }: RetryId, nowMs: number) {
  const found = await reader.get<[number, string, string | null]>(
    "SELECT request = ?, reply, body FROM answers WHERE retry = ? AND stored_at > ?",
    [Buffer.from(request, "hex"), Buffer.from(id, "hex"), nowMs - ANSWERS_KEPT_MS],
  );
  if (found === undefined) return undefined;
  const [same, reply, body] = found;
  return { same: same === 1, reply, body } satisfies StoredAnswer;
}

/** Stores an answer, in place of one that has ended. `seq`: the last event of the operation. */
export async function insertAnswer(
  tx: Transaction,
  { id, request }: RetryId,
  { reply, body }: { reply: string; body: string },
  { seq, nowMs }: { seq: number; nowMs: number },
): Promise<void> {
  await tx.run(
    `INSERT OR REPLACE INTO answers (event_seq, retry, request, stored_at, through, reply, body)
     VALUES (?1, ?2, ?3, ?4, ?5 + coalesce((SELECT through FROM answers ORDER BY event_seq DESC LIMIT 1), 0), ?6, ?7)`,
    [seq, Buffer.from(id, "hex"), Buffer.from(request, "hex"), nowMs, bytesOf(reply, body), reply, body],
  );
}

const bytesOf = (reply: string, body: string): number => ROW_BYTES + Buffer.byteLength(reply) + Buffer.byteLength(body);

/** Returns about how many bytes the stored answers take, from the first one and the last one alone. */
export async function answerBytes(reader: Reader): Promise<number> {
  const ends = "SELECT through FROM answers ORDER BY event_seq";
  const last = await reader.value<number>(`${ends} DESC LIMIT 1`);
  return last === undefined ? 0 : last - ((await reader.value<number>(`${ends} LIMIT 1`)) ?? 0);
}

/** Whether there are stored answers. */
export const hasAnswers = async (reader: Reader): Promise<boolean> =>
  (await reader.value("SELECT 1 FROM answers LIMIT 1")) !== undefined;

/** Removes those of the `count` oldest answers that have ended. Returns how many. */
export async function removeEndedAnswers(tx: Transaction, nowMs: number, count: number): Promise<number> {
  const oldest = "SELECT event_seq, stored_at FROM answers ORDER BY event_seq LIMIT ?";
  return tx.run(`DELETE FROM answers WHERE event_seq IN (SELECT event_seq FROM (${oldest}) WHERE stored_at <= ?)`, [
    count,
    nowMs - ANSWERS_KEPT_MS,
  ]);
}

/**
 * Destroys the bodies that may show what is erased of an agent: those that hold the text, and those with a redacted text,
 * which name no key. That there was an answer stays known, so that its request is not carried out again.
 */
export async function eraseAnswers(tx: Transaction, agentId: string, text: string): Promise<void> {
  await tx.run(
    `UPDATE answers SET body = NULL
     WHERE (instr(body, ?1) > 0 OR instr(body, '"redacted_value"') > 0)
       AND coalesce((SELECT agent_id FROM events WHERE seq = event_seq), ?2) = ?2`,
    [text, agentId],
  );
}
