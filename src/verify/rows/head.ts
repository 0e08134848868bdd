/** Reads and checks the row with the head of a log. */
import { AUDIT_FORMAT } from "../../log/event.ts";
import { decodeText } from "../../store/packed.ts";
import type { Reader } from "../../store/transaction.ts";
import { integer, textBytes } from "../columns.ts";
import type { LogVerifier } from "../events/log-verifier.ts";

/** The row with the head of a log. Members are null when their columns are of another type. */
export interface Head {
  workspaceId: string | null;
  format: string | null;
  vocabulary: number | null;
  seq: number | null;
  hash: string | null;
  rows: number;
}

/** Returns the row; null when there is none. */
export async function readHead(reader: Reader): Promise<Head | null> {
  const row = await reader.get<[Buffer | null, Buffer | null, number | null, number | null, Buffer | null, number]>(
    `SELECT ${textBytes("workspace_id")}, ${textBytes("format")}, ${integer("vocabulary")}, ${integer("seq")},
       CASE typeof(hash) WHEN 'blob' THEN hash END,
       (SELECT count(*) FROM head) FROM head WHERE one = 1`,
  );
  if (row === undefined) return null;
  const [workspaceId, format, vocabulary, seq, hash, rows] = row;
  return {
    ...{ workspaceId: decodeText(workspaceId), format: decodeText(format), vocabulary },
    ...{ seq, hash: hash?.toString("hex") ?? null, rows },
  };
}

/** Compares the row with the last event of the log. */
export function checkHead(verifier: LogVerifier, head: Head | null): void {
  if (verifier.isOpaque) return;
  let last: { seq: number; hash: string } | null = null;
  for (const { last: end } of verifier.chains.values()) {
    if (last === null || end.event.seq > last.seq) last = { seq: end.event.seq, hash: end.hash };
  }
  const message = headProblem(head, last) ?? vocabularyProblem(head, verifier.vocabularies.inForce);
  if (message !== null) verifier.report("head_mismatch", null, last?.seq ?? null, message);
}

/** @param announced the greatest vocabulary that the log announces; null when no event that announces one is intact */
function vocabularyProblem(head: Head | null, announced: number | null): string | null {
  if (head === null || announced === null || head.vocabulary === announced) return null;
  return "the row that names the end of the log names another vocabulary than the log announces";
}

function headProblem(head: Head | null, last: { seq: number; hash: string } | null): string | null {
  if (head === null && last === null) return null;
  if (head === null) return "the row that names the end of the log is gone";
  if (head.rows !== 1) return "there is more than one row that names the end of the log";
  if (head.workspaceId === null) return "the row that names the end of the log names no workspace";
  if (head.format !== AUDIT_FORMAT) return "the row that names the end of the log names another format";
  if (last === null) return "the log is empty";
  const agrees = head.seq === last.seq && head.hash === last.hash;
  return agrees ? null : "the log does not end with the event that the file says it ends with";
}
