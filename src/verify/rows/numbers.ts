/**
 * The numbers that rows are read by, in order and in pages. The log has none that a double does not hold exactly, and a row
 * with such a number would be left out.
 */
import type { Reader } from "../../store/transaction.ts";
import { allOf, type Problem } from "../problems.ts";

const NUMBERS = [
  ["events", "seq", 0],
  ["agents", "first_seq", 0],
  ["configs", "version", 0],
  ["checkpoints", "as_of_seq", 0],
  // The log says nothing of these.
  ["entries", "id", Number.MIN_SAFE_INTEGER],
  ["seals", "id", Number.MIN_SAFE_INTEGER],
] as const;

/** The first table with a row whose number is too large or too small; null when there is none. */
export async function numberProblem(reader: Reader): Promise<Problem | null> {
  for (const [table, column, least] of NUMBERS) {
    const outside = `${column} > ${Number.MAX_SAFE_INTEGER} OR ${column} < ${least}`;
    if ((await reader.get(`SELECT 1 FROM ${table} WHERE ${outside} LIMIT 1`)) === undefined) continue;
    const message = `${table}: a row has a number that no row of a log can have; nothing more was looked at`;
    return { code: "row_mismatch", seq: null, id: null, message, row: allOf(table) };
  }
  return null;
}
