/**
 * How a group of replies travels as one text. Most are a JSON body with status, audit id and what was
 * decided: those are a line each, written and read without another layer of JSON. Everything else is JSON on its line.
 */
import type { AuditResult } from "../workspace/contract.ts";
import type { ReplyMessage } from "./messages.ts";

/** What such a text begins with; every other message begins with `{`. */
export const REPLIES = "R";

/** Separates the parts of a short line; no id, status or JSON text holds it. */
const TAB = "\t";
const LINE_END = "\n";

export function writeReplies(replies: readonly ReplyMessage[]): string {
  let text = REPLIES;
  for (const reply of replies) text += writeReply(reply);
  return text;
}

function writeReply(reply: ReplyMessage): string {
  const { id, answer, auditId, result, blockedBy } = reply;
  if (
    answer.kind === "json" &&
    answer.etag === undefined &&
    auditId !== null &&
    result !== undefined &&
    isOneLine(answer.body)
  ) {
    const decided = blockedBy === undefined ? result : `${result} ${blockedBy}`;
    return `${id}${TAB}${auditId}${TAB}${answer.status}${TAB}${decided}${TAB}${answer.body}${LINE_END}`;
  }
  return `${JSON.stringify(reply)}${LINE_END}`;
}

const isOneLine = (text: string): boolean => !text.includes(LINE_END);

/** The inverse of {@link writeReplies}. */
export function readReplies(text: string): ReplyMessage[] {
  const replies: ReplyMessage[] = [];
  for (let at = REPLIES.length; at < text.length; ) {
    const end = text.indexOf(LINE_END, at);
    replies.push(
      text[at] === "{" ? (JSON.parse(text.slice(at, end)) as ReplyMessage) : readShort(text, at, end),
    );
    at = end + 1;
  }
  return replies;
}

function readShort(text: string, at: number, end: number): ReplyMessage {
  const afterId = text.indexOf(TAB, at);
  const afterAuditId = text.indexOf(TAB, afterId + 1);
  const afterStatus = text.indexOf(TAB, afterAuditId + 1);
  const afterDecided = text.indexOf(TAB, afterStatus + 1);
  const [result, blockedBy] = text.slice(afterStatus + 1, afterDecided).split(" ") as [AuditResult, string?];
  return {
    ...(blockedBy === undefined ? { result } : { result, blockedBy }),
    id: Number(text.slice(at, afterId)),
    auditId: text.slice(afterId + 1, afterAuditId),
    answer: {
      kind: "json",
      status: Number(text.slice(afterAuditId + 1, afterStatus)),
      body: text.slice(afterDecided + 1, end),
    },
  };
}
