/** Files and directories that only the daemon's user can read. A file is either complete or absent. */
import { existsSync, fchmodSync, fstatSync, fsyncSync, linkSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { Failure, systemCode } from "../../failure.ts";
import { ifSupported, isUnsupported, syncDirectory, withFile, writeAll } from "../../store/sync.ts";
import { holdLock } from "./file-lock.ts";

export const PRIVATE_FILE_MODE = 0o600;
export const PRIVATE_DIRECTORY_MODE = 0o700;

/** Creates a directory and its parents. Returns false when it already existed. */
export const makePrivateDirectory = (path: string): boolean =>
  mkdirSync(path, { recursive: true, mode: PRIVATE_DIRECTORY_MODE }) !== undefined;

/**
 * Creates a file unless it exists. Reports whether it created one. Of several concurrent processes one succeeds, and
 * nobody sees an incomplete file.
 */
export function createPrivateFile(path: string, content: string | Uint8Array): boolean {
  const draft = writeDraft(path, content);
  try {
    if (!takeName(draft, path)) return false;
    syncDirectory(dirname(path));
    return true;
  } finally {
    rmSync(draft, { force: true });
  }
}

/** The file whose lock stands for the right to create files in its directory, where there are no hard links. */
export const CREATION_LOCK = ".create.lock";
/** How long to wait for other processes that create a file, ms. Each holds the lock for two calls of the system. */
const CREATION_PATIENCE_MS = 60_000;

/** Gives a draft its name unless another file has it. Reports whether the draft got it. */
function takeName(draft: string, path: string): boolean {
  try {
    // Unlike a rename, a link fails when the name exists.
    linkSync(draft, path);
    return true;
  } catch (error) {
    if (systemCode(error) === "EEXIST") return false;
    if (!isUnsupported(error)) throw error;
  }
  const lock = join(dirname(path), CREATION_LOCK);
  using _ = holdLock(
    lock,
    (cause) => new Failure("busy", `Another process holds ${lock}.`, { cause }),
    CREATION_PATIENCE_MS,
  );
  if (existsSync(path)) return false;
  renameSync(draft, path);
  return true;
}

/** Replaces the content of a file, atomically and durably. */
export function replaceFile(path: string, content: string | Uint8Array, mode = PRIVATE_FILE_MODE): void {
  const draft = writeDraft(path, content, mode);
  try {
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
  syncDirectory(dirname(path));
}

/**
 * Removes a file after overwriting its content. On a file system that writes to other blocks (copy on write, journaled
 * data) and on flash memory the old content may remain on the medium.
 */
export function destroyFile(path: string): void {
  withFile(path, "r+", (file) => {
    writeAll(file, Buffer.alloc(fstatSync(file).size));
    fsyncSync(file);
  });
  rmSync(path);
  syncDirectory(dirname(path));
}

function writeDraft(path: string, content: string | Uint8Array, mode = PRIVATE_FILE_MODE): string {
  const draft = `${path}.${crypto.randomUUID()}.tmp`;
  const write = (file: number) => {
    // A file system without modes has those of its mount.
    ifSupported(() => fchmodSync(file, mode));
    writeAll(file, Buffer.from(content));
    fsyncSync(file);
  };
  try {
    withFile(draft, "wx", write, mode);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
  return draft;
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Makes signals remove `paths` before they end the process, until the returned object is disposed of. */
export function removedOnSignal(paths: () => readonly string[]): Disposable {
  const onSignal = (signal: NodeJS.Signals) => {
    stop();
    for (const path of paths()) rmSync(path, { recursive: true, force: true });
    // Without the handler, the signal has its default effect.
    process.kill(process.pid, signal);
  };
  const stop = () => {
    for (const signal of SIGNALS) process.off(signal, onSignal);
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return { [Symbol.dispose]: stop };
}
