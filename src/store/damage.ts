/** Classifies errors of the database. */

/** SQLite's primary result codes for failures of the disk or a file (https://www.sqlite.org/rescode.html). */
const PRIMARY_CODES: Readonly<Record<number, string>> = {
  5: "SQLITE_BUSY",
  6: "SQLITE_LOCKED",
  7: "SQLITE_NOMEM",
  8: "SQLITE_READONLY",
  10: "SQLITE_IOERR",
  11: "SQLITE_CORRUPT",
  13: "SQLITE_FULL",
  14: "SQLITE_CANTOPEN",
  15: "SQLITE_PROTOCOL",
  26: "SQLITE_NOTADB",
};
const PRIMARY = 0xff;

/**
 * Returns the name of SQLite's result code; the extended one if the driver knows it, otherwise the primary one (the
 * driver calls unknown codes `UNKNOWN_SQLITE_ERROR_…`). Returns "" for an error that is not SQLite's.
 */
export function sqliteCode(error: unknown): string {
  const { code, rawCode } = error as { code?: unknown; rawCode?: unknown };
  if (typeof code !== "string") return "";
  if (code.startsWith("SQLITE_")) return code;
  if (!code.startsWith("UNKNOWN_SQLITE_ERROR")) return "";
  return PRIMARY_CODES[typeof rawCode === "number" ? rawCode & PRIMARY : 0] ?? "SQLITE_ERROR";
}

/** Whether an error comes from SQLite or its driver. */
export const isDriverError = (error: unknown): boolean => sqliteCode(error) !== "";

/** `not_a_database`: the header is not valid; `corrupt`: something after the header is not valid. */
type Damage = "not_a_database" | "corrupt";

/**
 * Returns how a file is damaged, according to an error of SQLite or its driver; null when the error is not about the
 * file. A wrong key, even as an `EncryptionMismatch`, counts as `not_a_database`; callers that must distinguish it
 * check for it first.
 */
export function damageOf(error: unknown): Damage | null {
  const { rawCode } = error as { rawCode?: unknown };
  const primary = typeof rawCode === "number" ? PRIMARY_CODES[rawCode & PRIMARY] : undefined;
  const codes = [primary ?? "", sqliteCode(error)];
  if (codes.some((code) => code.startsWith("SQLITE_NOTADB"))) return "not_a_database";
  return codes.some((code) => code.startsWith("SQLITE_CORRUPT")) ? "corrupt" : null;
}

/** Reports whether an error means that the file is damaged; see {@link damageOf}. */
export const isDamage = (error: unknown): boolean => damageOf(error) !== null;

/** The file cannot be opened. It replaces the driver's error, which has no code. */
export class CannotOpen extends Error {
  override readonly name = "CannotOpen";
  readonly code = "SQLITE_CANTOPEN";
}
