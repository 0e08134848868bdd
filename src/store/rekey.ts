/** Encrypts, decrypts, or re-encrypts a database file with another key. */
import { renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { type Connection, openConnection } from "./connection.ts";
import { databaseKind, type EncryptionKey, EncryptionMismatch, fileUri, opensWith } from "./encryption.ts";
import { schemaVersion } from "./migrate.ts";
import { integrityProblem } from "./snapshot.ts";
import { syncDirectory, syncFile } from "./sync.ts";

/** The suffix of the new file while it is being written. */
const DRAFT_SUFFIX = ".rekey";

/** Another process has the file open. The file is unchanged. */
export class FileInUse extends Error {
  override readonly name = "FileInUse";
}

/** The new file differs from the old one. The new file was removed, and the old one is unchanged. */
class RekeyFailed extends Error {
  override readonly name = "RekeyFailed";
}

/**
 * Rewrites the file with the key `to` (null: unencrypted), and replaces the old file atomically. `known` are the keys
 * that the file may have now. Returns false when the file has the wanted key already. Needs as much free space as the
 * file has bytes.
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
    // The old file is still locked. Its journal is obsolete, and must not remain beside the new file.
    rmSync(`${path}-journal`, { force: true });
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    if (/^SQLITE_(BUSY|LOCKED)/.test(String((error as { code?: unknown }).code))) throw new FileInUse();
    throw error;
  } finally {
    connection.close();
  }
  syncDirectory(dirname(path));
  return true;
}

/** Facts that must be equal in a copy and its original. */
type Figures = readonly [problem: string | null, schemaVersion: number, definitions: number];

function rewrite(connection: Connection, draft: string, to: EncryptionKey | null): void {
  // The copy is complete, since the file is locked and its log was copied back.
  if (!connection.truncateLog()) throw new FileInUse();
  connection.exec("PRAGMA locking_mode = EXCLUSIVE");
  if (connection.value<string>("PRAGMA journal_mode = DELETE") !== "delete") throw new FileInUse();
  const before = figuresOf(connection);
  const query = to === null ? "key=" : `cipher=aes256cbc&key=${to.reveal()}`;
  connection.exec(`VACUUM INTO '${fileUri(draft, query).replaceAll("'", "''")}'`);
  if (!sameFigures(before, check(draft, to))) throw new RekeyFailed("the copy is not the same");
  syncFile(draft);
}

function check(path: string, key: EncryptionKey | null): Figures {
  using connection = openConnection(path, { immutable: true, encryptionKey: key });
  return figuresOf(connection);
}

function figuresOf(connection: Connection): Figures {
  const definitions = connection.value<number>("SELECT count(*) FROM sqlite_schema") ?? 0;
  return [integrityProblem(connection), schemaVersion(connection), definitions];
}

const sameFigures = (before: Figures, after: Figures): boolean =>
  before[0] === null && before.every((figure, index) => figure === after[index]);
