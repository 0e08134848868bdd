/** Reads and checks the row with the head of a log. */
import { AUDIT_FORMAT } from "../../log/event.ts";
import type { Reader } from "../../store/transaction.ts";
import { decodeText, integer, textBytes } from "../columns.ts";
import type { LogVerifier } from "../events/log-verifier.ts";

/** The row with the head of a log. Members are null when their columns are of another type. */
export interface Head {
  workspaceId: string | null;
  format: string | null;
  seq: number | null;
  hash: string | null;
  rows: number;
}

/** Returns the row; null when there is none. */
export async function readHead(reader: Reader): Promise<Head | null> {
  const row = await reader.get<[Buffer | null, Buffer | null, number | null, Buffer | null, number]>(
    `SELECT ${textBytes("workspace_id")}, ${textBytes("format")}, ${integer("seq")}, ${textBytes("hash")},
       (SELECT count(*) FROM head) FROM head WHERE one = 1`,
  );
  if (row === undefined) return null;
  const [workspaceId, format, seq, hash, rows] = row;
  return { workspaceId: decodeText(workspaceId), format: decodeText(format), seq, hash: decodeText(hash), rows };
}

/** Compares the row with the last event of the log. */
export function checkHead(verifier: LogVerifier, head: Head | null): void {
  let last: { seq: number; hash: string } | null = null;
  for (const { last: end } of verifier.chains.values()) {
    if (last === null || end.event.seq > last.seq) last = { seq: end.event.seq, hash: end.hash };
  }
  const message = headProblem(head, last);
  if (message !== null) verifier.report("head_mismatch", null, last?.seq ?? null, message);
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
