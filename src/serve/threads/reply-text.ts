/**
 * The text in which a group of replies is sent between threads. A reply with a JSON body is one line with its other
 * members, then the body as it will be sent to the client, so that the body is never parsed or encoded again. Other
 * replies are JSON. The pieces of a long body are sent before its reply, each in its own text.
 */
import type { AuditResult, PartResult, Reply } from "../../core/writer/contract.ts";

/** The first character of a text of replies, and of a piece of a body. Every other message begins with `{`. */
const REPLIES = "R";
const PIECE = "P";

/** Whether a message is one of {@link writeReplies}. */
export const isOfReplies = (message: string): boolean => message[0] === REPLIES || message[0] === PIECE;

/** Separates the members of a line. No id, status, entity tag or JSON text contains it. */
const TAB = "\t";
const LINE_END = "\n";

/**
 * A text ends with the reply that exceeds this length, UTF-16 units, since passing a long text on blocks the thread.
 */
const LONG = 256 * 1024;

/** Yields the texts of a group of replies, mostly one. @param operations the operations that the replies answer */
export function* writeReplies(operations: readonly { id: number }[], replies: readonly Reply[]): Generator<string> {
  let text = REPLIES;
  for (let i = 0; i < replies.length; i++) {
    const { id } = operations[i] as { id: number };
    let reply = replies[i] as Reply;
    const { answer } = reply;
    if (answer.kind === "json" && typeof answer.body !== "string") {
      for (const piece of answer.body) yield `${PIECE}${id}${TAB}${piece}`;
      reply = { ...reply, answer: { ...answer, body: "" } };
    }
    text += `${id}${TAB}${writeReply(reply)}${LINE_END}`;
    if (text.length <= LONG || i === replies.length - 1) continue;
    yield text;
    text = REPLIES;
  }
  yield text;
}

/** Reads the texts of {@link writeReplies}, in their order. */
export class ReplyReader {
  /** The pieces of bodies whose replies have not arrived, by the id of the operation. */
  readonly #pieces = new Map<number, string[]>();

  /** Returns the replies that are complete with this text. */
  read(text: string): { id: number; reply: Reply }[] {
    if (text[0] === PIECE) {
      const afterId = text.indexOf(TAB);
      const id = Number(text.slice(PIECE.length, afterId));
      this.#pieces.getOrInsertComputed(id, (): string[] => []).push(text.slice(afterId + 1));
      return [];
    }
    const replies: { id: number; reply: Reply }[] = [];
    for (let at = REPLIES.length; at < text.length; ) {
      const end = text.indexOf(LINE_END, at);
      const afterId = text.indexOf(TAB, at);
      const id = Number(text.slice(at, afterId));
      const reply = readReply(text, afterId + 1, end);
      replies.push({ id, reply: this.#pieces.size === 0 ? reply : this.#completed(id, reply) });
      at = end + 1;
    }
    return replies;
  }

  /** Drops the pieces of replies that will not arrive, since the thread has ended. */
  forget(): void {
    this.#pieces.clear();
  }

  #completed(id: number, reply: Reply): Reply {
    const pieces = this.#pieces.get(id);
    if (pieces === undefined || reply.answer.kind !== "json") return reply;
    this.#pieces.delete(id);
    return { ...reply, answer: { ...reply.answer, body: pieces } };
  }
}

function writeReply(reply: Reply): string {
  const { answer, auditId, result, blockedBy = "", firstRequestId, parts } = reply;
  if (answer.kind !== "json" || auditId === null || result === undefined) return JSON.stringify(reply);
  if (firstRequestId !== undefined) return JSON.stringify(reply);
  const { status, etag = "", body, itemsAt = "" } = answer;
  if (typeof body !== "string" || body.includes(LINE_END)) return JSON.stringify(reply);
  const partsText = parts === undefined ? "" : JSON.stringify(parts);
  return `${auditId}${TAB}${result}${TAB}${blockedBy}${TAB}${status}${TAB}${etag}${TAB}${partsText}${TAB}${itemsAt}${TAB}${body}`;
}

function readReply(text: string, at: number, end: number): Reply {
  if (text[at] === "{") return JSON.parse(text.slice(at, end)) as Reply;
  // Parsed without a closure or an array, since every reply passes through here.
  const afterAuditId = text.indexOf(TAB, at);
  const afterResult = text.indexOf(TAB, afterAuditId + 1);
  const afterBlockedBy = text.indexOf(TAB, afterResult + 1);
  const afterStatus = text.indexOf(TAB, afterBlockedBy + 1);
  const afterTag = text.indexOf(TAB, afterStatus + 1);
  const afterParts = text.indexOf(TAB, afterTag + 1);
  const afterItemsAt = text.indexOf(TAB, afterParts + 1);
  const status = Number(text.slice(afterBlockedBy + 1, afterStatus));
  const answer: Extract<Reply["answer"], { kind: "json" }> = {
    kind: "json",
    status,
    body: text.slice(afterItemsAt + 1, end),
  };
  if (afterTag > afterStatus + 1) answer.etag = text.slice(afterStatus + 1, afterTag);
  if (afterItemsAt > afterParts + 1) answer.itemsAt = Number(text.slice(afterParts + 1, afterItemsAt));
  const result = text.slice(afterAuditId + 1, afterResult) as AuditResult;
  const reply: Reply = { answer, auditId: text.slice(at, afterAuditId), result };
  if (afterBlockedBy > afterResult + 1) reply.blockedBy = text.slice(afterResult + 1, afterBlockedBy);
  if (afterParts > afterTag + 1) reply.parts = JSON.parse(text.slice(afterTag + 1, afterParts)) as PartResult[];
  return reply;
}
