/**
 * Checks the numbers by which rows are read in order and in pages. A number that a double cannot represent exactly is
 * never in the log, and a row with such a number would be skipped.
 */
import type { Reader } from "../../store/transaction.ts";
import { allOf, type Problem } from "../problems.ts";

const NUMBERS = [
  ["events", "seq", 0],
  ["agents", "first_seq", 0],
  ["configs", "version", 0],
  ["checkpoints", "as_of_seq", 0],
  // These numbers are not in the log.
  ["entries", "id", Number.MIN_SAFE_INTEGER],
  ["seals", "id", Number.MIN_SAFE_INTEGER],
] as const;

/** The end of the message of {@link numberProblem}. */
export const NO_NUMBER = "a row has a number that no row of a log can have; nothing more was looked at";

/** Returns the problem of the first table with a row whose number is too large or too small; null for none. */
export async function numberProblem(reader: Reader): Promise<Problem | null> {
  for (const [table, column, least] of NUMBERS) {
    const outside = `${column} > ${Number.MAX_SAFE_INTEGER} OR ${column} < ${least}`;
    if ((await reader.get(`SELECT 1 FROM ${table} WHERE ${outside} LIMIT 1`)) === undefined) continue;
    const message = `${table}: ${NO_NUMBER}`;
    return { code: "row_mismatch", seq: null, id: null, message, row: allOf(table) };
  }
  return null;
}
