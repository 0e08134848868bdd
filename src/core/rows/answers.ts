/**
 * Stored answers to requests with an `Idempotency-Key`. An answer is stored in the transaction of its operation, and is
 * valid for 24 hours.
 */
import { CLOCK_LEEWAY_MS } from "../../ids.ts";
import type { Reader, Transaction } from "../../store/transaction.ts";

/** How long an answer is stored, ms. */
const ANSWERS_KEPT_MS = 24 * 60 * 60 * 1_000;

/** The approximate size of a row and its index entry without the texts, bytes. */
const ROW_BYTES = 128;

/** A request with an `Idempotency-Key`. Both are hex. */
export interface RetryId {
  /** The digest of the principal and the key. */
  id: string;
  /** The digest of the key and the request. */
  request: string;
}

/** A stored answer, in JSON texts. */
interface StoredAnswer {
  /** Whether the answer is to the same request. */
  same: boolean;
  reply: string;
  /** Null when data that it may contain was erased. */
  body: string | null;
}

/** Returns the stored answer to a request, or to another request with the same key; undefined when there is none. */
export async function findAnswer(reader: Reader, { id, request }: RetryId, nowMs: number) {
  const found = await reader.get<[number, string, string | null]>(
    "SELECT request = ?, reply, body FROM answers WHERE retry = ? AND stored_at > ?",
    [Buffer.from(request, "hex"), Buffer.from(id, "hex"), nowMs - ANSWERS_KEPT_MS],
  );
  if (found === undefined) return undefined;
  const [same, reply, body] = found;
  return { same: same === 1, reply, body } satisfies StoredAnswer;
}

/** Stores an answer, and replaces an expired one. `seq`: the last event of the operation. */
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

/** Returns the approximate size of all stored answers, bytes, from the first and the last row only. */
export async function answerBytes(reader: Reader): Promise<number> {
  const before = `through - ${ROW_BYTES} - octet_length(reply) - coalesce(octet_length(body), 0)`;
  const first = await reader.value<number>(`SELECT ${before} FROM answers ORDER BY event_seq LIMIT 1`);
  if (first === undefined) return 0;
  return ((await reader.value<number>("SELECT through FROM answers ORDER BY event_seq DESC LIMIT 1")) ?? 0) - first;
}

/** Whether there are stored answers. */
export const hasAnswers = async (reader: Reader): Promise<boolean> =>
  (await reader.value("SELECT 1 FROM answers LIMIT 1")) !== undefined;

/**
 * Removes the answers among the `count` oldest that have expired. Returns how many were removed. Those whose time has not
 * come, since the clock was ahead, count as stored now: they would stay until that date, and a retry may still need them.
 */
export async function removeEndedAnswers(tx: Transaction, nowMs: number, count: number): Promise<number> {
  const oldest = "SELECT event_seq, stored_at FROM answers ORDER BY event_seq LIMIT ?";
  await tx.run(
    `UPDATE answers SET stored_at = ? WHERE event_seq IN (SELECT event_seq FROM (${oldest}) WHERE stored_at > ?)`,
    [nowMs, count, nowMs + CLOCK_LEEWAY_MS],
  );
  return tx.change(`DELETE FROM answers WHERE event_seq IN (SELECT event_seq FROM (${oldest}) WHERE stored_at <= ?)`, [
    count,
    nowMs - ANSWERS_KEPT_MS,
  ]);
}

/**
 * Deletes the bodies that may show values of an agent, some of which no program may see any more. The rows stay, so that
 * their requests are not carried out again.
 */
export async function forgetValues(tx: Transaction, agentId: string): Promise<void> {
  await tx.run(
    `UPDATE answers SET body = NULL
     WHERE instr(body, '"value":') > 0 AND coalesce((SELECT agent_id FROM events WHERE seq = event_seq), ?1) = ?1`,
    [agentId],
  );
}

/**
 * Deletes the bodies that may contain erased data of an agent: those with the text, and those of redacted texts and with
 * findings, which name no key. (A finding in metadata names its members.) The rows stay, so that their requests are not
 * carried out again.
 */
export async function eraseAnswers(tx: Transaction, agentId: string, text: string): Promise<void> {
  await tx.run(
    `UPDATE answers SET body = NULL
     WHERE (instr(body, ?1) > 0 OR instr(body, '"redacted_value"') > 0 OR instr(body, '"findings":[{') > 0)
       AND coalesce((SELECT agent_id FROM events WHERE seq = event_seq), ?2) = ?2`,
    [text, agentId],
  );
}
