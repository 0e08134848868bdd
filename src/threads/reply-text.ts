/**
 * How a group of replies travels between threads: as one text. A JSON body stands in it as it will be sent, behind
 * one line of what else the reply says, so it is never parsed or wrapped in JSON again. Other replies are JSON.
 */
import type { AuditResult, Reply } from "../workspace/contract.ts";

/** What such a text begins with; every other message begins with `{`. */
export const REPLIES = "R";

/** Separates the parts of a line with a body; no id, status, entity tag or JSON text holds it. */
const TAB = "\t";
const LINE_END = "\n";

/** `ids`: those of the operations that the replies are to. */
export function writeReplies(ids: readonly number[], replies: readonly Reply[]): string {
  let text = REPLIES;
  for (const [i, reply] of replies.entries()) text += `${ids[i]}${TAB}${writeReply(reply)}${LINE_END}`;
  return text;
}

/** The inverse of {@link writeReplies}. */
export function readReplies(text: string): { id: number; reply: Reply }[] {
  const replies: { id: number; reply: Reply }[] = [];
  for (let at = REPLIES.length; at < text.length; ) {
    const end = text.indexOf(LINE_END, at);
    const afterId = text.indexOf(TAB, at);
    replies.push({ id: Number(text.slice(at, afterId)), reply: readReply(text, afterId + 1, end) });
    at = end + 1;
  }
  return replies;
}

function writeReply(reply: Reply): string {
  const { answer, auditId, result, blockedBy = "" } = reply;
  if (answer.kind !== "json" || auditId === null || result === undefined) return JSON.stringify(reply);
  const { status, etag = "", body } = answer;
  if (body.includes(LINE_END)) return JSON.stringify(reply);
  return `${auditId}${TAB}${result}${TAB}${blockedBy}${TAB}${status}${TAB}${etag}${TAB}${body}`;
}

function readReply(text: string, at: number, end: number): Reply {
  if (text[at] === "{") return JSON.parse(text.slice(at, end)) as Reply;
  let next = at;
  const part = () => {
    const from = next;
    const to = text.indexOf(TAB, from);
    next = to + 1;
    return text.slice(from, to);
  };
  const auditId = part();
  const result = part() as AuditResult;
  const blockedBy = part();
  const status = Number(part());
  const etag = part();
  const body = text.slice(next, end);
  const answer: Reply["answer"] = { kind: "json", status, body };
  if (etag !== "") answer.etag = etag;
  const reply: Reply = { answer, auditId, result };
  if (blockedBy !== "") reply.blockedBy = blockedBy;
  return reply;
}
