/**
 * Opens a database as evidence: without changing one byte of it or of its directory, even while a daemon writes to it.
 *
 * Without a write-ahead log, the database file is complete, and is opened in place as immutable. With a log, SQLite
 * would have to create a shared-memory file beside it, so the database and then the log are copied to a private
 * directory. The copies are made at different moments, but are consistent if the header of the log did not change:
 * whatever a checkpoint moved into the database meanwhile is also in the log, which takes precedence, and a log that
 * was restarted would have other salts in its header (https://www.sqlite.org/walformat.html, "WAL Header").
 */
import { constants, copyFileSync, mkdtempSync, readSync, realpathSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removedOnSignal } from "../../core/datadir/private-files.ts";
import { Failure, systemCode, systemReason } from "../../failure.ts";
import { withFile } from "../../store/sync.ts";

const WAL_HEADER_BYTES = 32;
/** A busy daemon restarts its log sometimes, but not this often in a row. */
const MAX_ATTEMPTS = 8;
const RETRY_DELAY_MS = 100;

/** A database that can be opened for reading. Disposing of it removes its temporary files. */
export interface EvidenceFile extends Disposable {
  /** The file to open. */
  path: string;
  /** Whether to open it as immutable: nobody writes to it, and files beside it are ignored. */
  immutable: boolean;
  /**
   * Reports whether the file was in one state while it was read. Call it after reading. When it returns false, somebody
   * wrote to the file meanwhile, and it must be read again.
   */
  unchanged(): boolean;
}

/**
 * Prepares a database file to be read as evidence.
 * @throws {Failure} `evidence_unreadable` when it cannot be read or copied, or is written to too often
 */
export async function openEvidenceFile(path: string): Promise<EvidenceFile> {
  try {
    // The log is beside the file itself, not beside a link to it.
    const file = realpathSync(path);
    if (hasHotJournal(file)) throw new Failure("evidence_unreadable", `${path} ${IS_ROLLED_BACK}`);
    return await held(file, path);
  } catch (error) {
    if (error instanceof Failure || systemCode(error) === undefined) throw error;
    throw new Failure("evidence_unreadable", `Cannot read ${path}: ${systemReason(error)}.`, { cause: error });
  }
}

const IS_ROLLED_BACK =
  "has a rollback journal (-journal) beside it, so that opening it changes it: a process ended in the middle of a change, or somebody put the journal there. Open the directory with governd, and verify it then.";

/** Reports whether SQLite would roll a file back on opening: the header of its journal does not begin with 0. */
function hasHotJournal(file: string): boolean {
  const first = Buffer.alloc(1);
  try {
    return withFile(`${file}-journal`, "r", (journal) => readSync(journal, first, 0, 1, 0)) === 1 && first[0] !== 0;
  } catch (error) {
    if (systemCode(error) === "ENOENT") return false;
    throw error;
  }
}

function inPlace(file: string): EvidenceFile {
  const before = fingerprint(file);
  return {
    path: file,
    immutable: true,
    unchanged: () => readWalHeader(file) === null && fingerprint(file) === before,
    [Symbol.dispose]() {},
  };
}

/** Opens the file in place when there is no log, and as a copy otherwise. The log may appear and disappear. */
async function held(file: string, path: string): Promise<EvidenceFile> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    if (attempt > 0) await Bun.sleep(RETRY_DELAY_MS);
    if (readWalHeader(file) === null) return inPlace(file);
    const copy = copied(file, path);
    if (copy !== null) return copy;
  }
  throw new Failure(
    "evidence_unreadable",
    `${path} is written to so often that no consistent copy could be made. Try again.`,
  );
}

/** Returns a copy, or null when the log was restarted meanwhile. */
function copied(file: string, path: string): EvidenceFile | null {
  const directory = privateDirectory();
  const copy = join(directory.path, "evidence.db");
  try {
    if (copyOnce(file, copy))
      return { path: copy, immutable: false, unchanged: () => true, [Symbol.dispose]: directory.remove };
  } catch (error) {
    directory.remove();
    if (systemCode(error) !== "ENOSPC") throw error;
    throw new Failure(
      "evidence_unreadable",
      `Not enough space in ${tmpdir()} for a copy of ${path}. Set TMPDIR to a directory with more space.`,
      { cause: error },
    );
  }
  directory.remove();
  return null;
}

/** Copies database and log. Returns false when the log was restarted meanwhile, so that the copies do not match. */
function copyOnce(file: string, copy: string): boolean {
  const before = readWalHeader(file);
  copyFileSync(file, copy, constants.COPYFILE_FICLONE);
  // The content of a log that has disappeared is in the database, but perhaps not in its copy.
  if (before === null || readWalHeader(file) === null) return false;
  copyFileSync(`${file}-wal`, `${copy}-wal`, constants.COPYFILE_FICLONE);
  return readWalHeader(copy) === before && readWalHeader(file) === before;
}

/** Returns the header of the write-ahead log in hex; null when there is no log or it is empty. */
function readWalHeader(file: string): string | null {
  const header = Buffer.alloc(WAL_HEADER_BYTES);
  try {
    const read = withFile(`${file}-wal`, "r", (log) => readSync(log, header, 0, WAL_HEADER_BYTES, 0));
    return read === WAL_HEADER_BYTES ? header.toString("hex") : null;
  } catch (error) {
    if (systemCode(error) === "ENOENT") return null;
    throw error;
  }
}

function fingerprint(file: string): string {
  const { ino, size, mtimeNs } = statSync(file, { bigint: true });
  return `${ino} ${size} ${mtimeNs}`;
}

/**
 * Creates a directory for this process only. A signal that ends the process also removes the directory, which holds
 * somebody's data.
 */
export function privateDirectory(): { path: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), "governd-"));
  const cleaner = removedOnSignal(() => [path]);
  const remove = () => {
    cleaner[Symbol.dispose]();
    rmSync(path, { recursive: true, force: true });
  };
  return { path, remove };
}
