/** Giving a database file another key, its first one, or none. */
import { renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { type Connection, openConnection } from "./connection.ts";
import { databaseKind, type EncryptionKey, EncryptionMismatch, fileUri, opensWith } from "./encryption.ts";
import { syncPath } from "./sync.ts";

/** Ends the name of the new file while it is being written. */
const DRAFT_SUFFIX = ".rekey";

/** Somebody else has the file open, so it was left as it is. */
export class FileInUse extends Error {
  override readonly name = "FileInUse";
}

/** The new file is not a faithful copy; it was removed, and the old one is as it was. */
export class RekeyFailed extends Error {
  override readonly name = "RekeyFailed";
}

/**
 * Writes the file anew under the key `to` (null: in plain) and puts it in the old one's place, at once:
 * whoever is interrupted has the old file or the new one. `known` are the keys that it may have now. Answers
 * false when it has the wanted form already. Needs as much space again as the file takes.
 * @throws {EncryptionMismatch} when none of the keys fits
 */
export function rekeyFile(path: string, known: readonly EncryptionKey[], to: EncryptionKey | null): boolean {
  const draft = `${path}${DRAFT_SUFFIX}`;
  rmSync(draft, { force: true });
  const kind = databaseKind(path);
  if (kind === "plain" ? to === null : to !== null && opensWith(path, to)) return false;
  const from = kind === "plain" ? null : known.find((key) => opensWith(path, key));
  if (from === undefined) throw new EncryptionMismatch(path, known.length > 0 ? "key_wrong" : "key_missing");
  const connection = openConnection(path, { encryptionKey: from });
  try {
    rewrite(connection, draft, to);
    // Still alone with the old file. Its journal is of no use by now, and must not stand beside the new one.
    rmSync(`${path}-journal`, { force: true });
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    if (/^SQLITE_(BUSY|LOCKED)/.test(String((error as { code?: unknown }).code))) throw new FileInUse();
    throw error;
  } finally {
    connection.close();
  }
  syncPath(dirname(path));
  return true;
}

/** What a copy must have in common with its original. */
type Figures = readonly [integrity: string, schemaVersion: number, definitions: number];

function rewrite(connection: Connection, draft: string, to: EncryptionKey | null): void {
  // Alone with the file, and its log written back into it: what is copied is all there is.
  if (!connection.truncateLog()) throw new FileInUse();
  connection.exec("PRAGMA locking_mode = EXCLUSIVE");
  if (connection.get<[string]>("PRAGMA journal_mode = DELETE")?.[0] !== "delete") throw new FileInUse();
  const before = figuresOf(connection);
  const query = to === null ? "key=" : `cipher=aes256cbc&key=${to.reveal()}`;
  connection.exec(`VACUUM INTO '${fileUri(draft, query).replaceAll("'", "''")}'`);
  if (!sameFigures(before, check(draft, to))) throw new RekeyFailed("the copy is not the same");
  syncPath(draft);
}

function check(path: string, key: EncryptionKey | null): Figures {
  using connection = openConnection(path, { immutable: true, encryptionKey: key });
  return figuresOf(connection);
}

function figuresOf(connection: Connection): Figures {
  const number = (sql: string) => connection.get<[number]>(sql)?.[0] ?? 0;
  return [
    connection.get<[string]>("PRAGMA integrity_check(1)")?.[0] ?? "",
    number("PRAGMA user_version"),
    number("SELECT count(*) FROM sqlite_schema"),
  ];
}

const sameFigures = (before: Figures, after: Figures): boolean =>
  before[0] === "ok" && before.every((figure, index) => figure === after[index]);
