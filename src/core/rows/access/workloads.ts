/** The workloads that have acted in a workspace, as its file has them: rows that events state. */
import type { Reader } from "../../../store/transaction.ts";

/** Returns the id by which the workspace knows a workload; undefined before it has acted there. */
export const findWorkload = async (reader: Reader, issuer: string, subject: string): Promise<string | undefined> =>
  await reader.value<string>("SELECT id FROM workloads WHERE issuer = ? AND subject = ?", [issuer, subject]);
