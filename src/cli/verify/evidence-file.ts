/**
 * A database as evidence: read without changing one byte of it or of its directory, also while a daemon
 * writes to it.
 *
 * Without a write-ahead log beside it, the file is all there is, and is opened in place as immutable. With
 * one, SQLite would have to make a shared-memory file next to it, so the database and then the log are
 * copied to a private directory. The copies are taken at different moments, and are consistent all the
 * same when the log's header stayed as it was: whatever a checkpoint moved into the database meanwhile is
 * in the log too, which outranks it, and a log that began anew would have other salts in its header
 * (https://www.sqlite.org/walformat.html, "WAL Header").
 */
import {
  closeSync,
  constants,
  copyFileSync,
  mkdtempSync,
  openSync,
  readSync,
  realpathSync,
  rmSync,
  statSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Failure, systemCode, systemReason } from "../../failure.ts";

const WAL_HEADER_BYTES = 32;
/** A busy daemon starts its log anew now and then; not this often in a row. */
const MAX_ATTEMPTS = 8;
const RETRY_DELAY_MS = 100;

/** A database that can be opened for reading. Disposing of it removes what was made for that. */
export interface EvidenceFile extends Disposable {
  /** What to open. */
  path: string;
  /** Whether it is to be opened as immutable: nobody writes to it, and nothing beside it counts. */
  immutable: boolean;
  /**
   * True when what was read is one state of the evidence: to be asked after reading. False when somebody
   * wrote to a file that was read in place; then it is to be read again.
   */
  unchanged(): boolean;
}

/**
 * Makes a database file ready to be read as evidence.
 * @throws {Failure} `evidence_unreadable` when it cannot be read or copied, or does not hold still.
 */
export async function openEvidenceFile(path: string): Promise<EvidenceFile> {
  try {
    // The log stands beside the file itself, not beside a link to it.
    return await held(realpathSync(path), path);
  } catch (error) {
    if (systemCode(error) === undefined) throw error;
    throw new Failure("evidence_unreadable", `Cannot read ${path}: ${systemReason(error)}.`, {
      cause: error,
    });
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

/** In place while there is no log, and a copy while there is one, which may come and go. */
async function held(file: string, path: string): Promise<EvidenceFile> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    if (attempt > 0) await Bun.sleep(RETRY_DELAY_MS);
    if (readWalHeader(file) === null) return inPlace(file);
    const copy = copied(file, path);
    if (copy !== null) return copy;
  }
  throw new Failure(
    "evidence_unreadable",
    `${path} is written to so much that no copy of it holds still: try again.`,
  );
}

/** A copy, or null when the log began anew meanwhile. */
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
      `There is no space in ${tmpdir()} for a copy of ${path}: set TMPDIR to a directory with more.`,
      { cause: error },
    );
  }
  directory.remove();
  return null;
}

/** Copies database and log; false when the log began anew meanwhile, so that the copies do not fit. */
function copyOnce(file: string, copy: string): boolean {
  const before = readWalHeader(file);
  copyFileSync(file, copy, constants.COPYFILE_FICLONE);
  // A log that is gone by now is in the database, but perhaps not in the copy of it.
  if (before === null || readWalHeader(file) === null) return false;
  copyFileSync(`${file}-wal`, `${copy}-wal`, constants.COPYFILE_FICLONE);
  return readWalHeader(copy) === before && readWalHeader(file) === before;
}

/** The header of the write-ahead log beside a database, hex; null when there is none, or it is empty. */
function readWalHeader(file: string): string | null {
  let log: number;
  try {
    log = openSync(`${file}-wal`, "r");
  } catch (error) {
    if (systemCode(error) === "ENOENT") return null;
    throw error;
  }
  try {
    const header = Buffer.alloc(WAL_HEADER_BYTES);
    return readSync(log, header, 0, WAL_HEADER_BYTES, 0) === WAL_HEADER_BYTES ? header.toString("hex") : null;
  } finally {
    closeSync(log);
  }
}

function fingerprint(file: string): string {
  const { ino, size, mtimeNs } = statSync(file, { bigint: true });
  return `${ino} ${size} ${mtimeNs}`;
}

/** A directory for this process alone, removed when a signal ends it, too: it holds somebody's data. */
function privateDirectory(): { path: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), "governd-"));
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  const onSignal = (signal: NodeJS.Signals) => {
    remove();
    // With the handler gone, the signal does what it does by default.
    process.kill(process.pid, signal);
  };
  const remove = () => {
    for (const signal of signals) process.off(signal, onSignal);
    rmSync(path, { recursive: true, force: true });
  };
  for (const signal of signals) process.on(signal, onSignal);
  return { path, remove };
}
