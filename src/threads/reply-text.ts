/**
 * How a group of replies travels between threads: as text. A JSON body stands in it as it will be sent, behind one
 * line of what else the reply says, so it is never parsed or wrapped in JSON again. Other replies are JSON.
 */
import type { AuditResult, PartResult, Reply } from "../workspace/contract.ts";

/** What such a text begins with; every other message begins with `{`. */
export const REPLIES = "R";

/** Separates the parts of a line with a body; no id, status, entity tag or JSON text holds it. */
const TAB = "\t";
const LINE_END = "\n";

/** A text ends with the reply that takes it past this length, UTF-16 units: passing it on takes the thread's time. */
const LONG = 256 * 1024;

/** Returns the texts, mostly one. `operations`: what the replies are to. */
export function* writeReplies(operations: readonly { id: number }[], replies: readonly Reply[]): Generator<string> {
  let text = REPLIES;
  for (let i = 0; i < replies.length; i++) {
    text += `${operations[i]?.id}${TAB}${writeReply(replies[i] as Reply)}${LINE_END}`;
    if (text.length <= LONG || i === replies.length - 1) continue;
    yield text;
    text = REPLIES;
  }
  yield text;
}

/** Reads a text of {@link writeReplies}. */
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
  const { answer, auditId, result, blockedBy = "", firstRequestId, parts } = reply;
  if (answer.kind !== "json" || auditId === null || result === undefined) return JSON.stringify(reply);
  if (firstRequestId !== undefined) return JSON.stringify(reply);
  const { status, etag = "", body } = answer;
  if (body.includes(LINE_END)) return JSON.stringify(reply);
  const partsText = parts === undefined ? "" : JSON.stringify(parts);
  return `${auditId}${TAB}${result}${TAB}${blockedBy}${TAB}${status}${TAB}${etag}${TAB}${partsText}${TAB}${body}`;
}

function readReply(text: string, at: number, end: number): Reply {
  if (text[at] === "{") return JSON.parse(text.slice(at, end)) as Reply;
  // Part by part, without a closure or an array: every reply comes by here.
  const afterAuditId = text.indexOf(TAB, at);
  const afterResult = text.indexOf(TAB, afterAuditId + 1);
  const afterBlockedBy = text.indexOf(TAB, afterResult + 1);
  const afterStatus = text.indexOf(TAB, afterBlockedBy + 1);
  const afterTag = text.indexOf(TAB, afterStatus + 1);
  const afterParts = text.indexOf(TAB, afterTag + 1);
  const status = Number(text.slice(afterBlockedBy + 1, afterStatus));
  const answer: Reply["answer"] = { kind: "json", status, body: text.slice(afterParts + 1, end) };
  if (afterTag > afterStatus + 1) answer.etag = text.slice(afterStatus + 1, afterTag);
  const result = text.slice(afterAuditId + 1, afterResult) as AuditResult;
  const reply: Reply = { answer, auditId: text.slice(at, afterAuditId), result };
  if (afterBlockedBy > afterResult + 1) reply.blockedBy = text.slice(afterResult + 1, afterBlockedBy);
  if (afterParts > afterTag + 1) reply.parts = JSON.parse(text.slice(afterTag + 1, afterParts)) as PartResult[];
  return reply;
}
