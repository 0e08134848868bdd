/** What a failure to read a database says of its file. */

/** SQLite's primary result codes for a file that is damaged, or is no database. */
const SQLITE_CORRUPT = 11;
const SQLITE_NOTADB = 26;
const PRIMARY = 0xff;

/** `not_a_database`: its beginning makes no sense; `corrupt`: what comes after it. */
export type Damage = "not_a_database" | "corrupt";

/**
 * How a file is damaged, by what SQLite or its driver threw; null when the failure is no matter of the file.
 * A key that does not fit looks like a file that is no database, also as an `EncryptionMismatch`: whoever has to
 * tell them apart asks for that first.
 */
export function damageOf(error: unknown): Damage | null {
  const { code, rawCode } = error as { code?: unknown; rawCode?: unknown };
  const primary = typeof rawCode === "number" ? rawCode & PRIMARY : null;
  const name = String(code);
  if (primary === SQLITE_NOTADB || name.startsWith("SQLITE_NOTADB")) return "not_a_database";
  return primary === SQLITE_CORRUPT || name.startsWith("SQLITE_CORRUPT") ? "corrupt" : null;
}

/** Whether the driver cannot make sense of a file; see {@link damageOf}. */
export const isDamage = (error: unknown): boolean => damageOf(error) !== null;
