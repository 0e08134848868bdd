/** Copies files into a backup and computes their digests. */
import { createHash } from "node:crypto";
import { existsSync, fsyncSync, linkSync, readdirSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import type { DataDirectory } from "../core/datadir/layout.ts";
import { PRIVATE_FILE_MODE } from "../core/datadir/private-files.ts";
import { asFailure, systemCode } from "../failure.ts";
import { isUnsupported, withFile, writeAll } from "../store/sync.ts";
import type { ManifestFile } from "./manifest.ts";

const PIECE_BYTES = 1024 * 1024;

/** The length of a file, bytes, and its SHA-256. */
export interface Digest {
  size: number;
  sha256: string;
}

/** Returns the digest of a file. */
export const digestOfFile = (path: string): Digest => eachPiece(path, () => {});

/** Copies a file to a new one with mode 0600, durably. Returns the digest of the copied bytes. */
export function copyFile(from: string, to: string): Digest {
  const copy = (target: number) => {
    const digest = eachPiece(from, (piece) => writeAll(target, piece));
    fsyncSync(target);
    return digest;
  };
  return withFile(to, "wx", copy, PRIVATE_FILE_MODE);
}

function eachPiece(path: string, take: (piece: Uint8Array) => void): Digest {
  const hash = createHash("sha256");
  const buffer = Buffer.alloc(PIECE_BYTES);
  return withFile(path, "r", (file) => {
    for (let size = 0; ; ) {
      const count = readSync(file, buffer, 0, PIECE_BYTES, null);
      if (count === 0) return { size, sha256: hash.digest("hex") };
      const piece = buffer.subarray(0, count);
      hash.update(piece);
      take(piece);
      size += count;
    }
  });
}

/** The error codes of a file that has as many links as it may, and of one on another file system. */
const OTHER_REASONS: ReadonlySet<string | undefined> = new Set(["EMLINK", "EXDEV"]);

/** Creates a hard link to a file, or copies the file when the file system has no hard links. */
export function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch (error) {
    if (!isUnsupported(error) && !OTHER_REASONS.has(systemCode(error))) throw error;
    copyFile(from, to);
  }
}

/** Returns the size of a file in bytes; 0 when the file does not exist. */
export const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

const FOLDERS = ["keys", "tls"] as const;

/** Returns the names of the files in `keys/` or `tls/`, without drafts of files that are being replaced. */
function namesIn(directory: DataDirectory, folder: (typeof FOLDERS)[number]): string[] {
  const path = directory[folder];
  if (!existsSync(path)) return [];
  return readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.startsWith(".") && !entry.name.endsWith(".tmp"))
    .map(({ name }) => name)
    .sort();
}

/** Copies keys and certificates. @throws {Failure} `data_directory_unusable` when one cannot be read */
export function copyKeyFiles(source: DataDirectory, target: DataDirectory): ManifestFile[] {
  return FOLDERS.flatMap((folder) =>
    namesIn(source, folder).map((name) => {
      const from = join(source[folder], name);
      try {
        return { path: `${folder}/${name}`, ...copyFile(from, join(target[folder], name)), source_state: null };
      } catch (error) {
        throw asFailure(error, "data_directory_unusable", (reason) => `Cannot copy ${from}: ${reason}.`);
      }
    }),
  );
}

/**
 * Reports whether the sealing keys are still those that were copied. After a rotation, the backup could have workspaces
 * that name another key than the one in the backup.
 */
export function areKeysAsCopied(source: DataDirectory, copied: readonly ManifestFile[]): boolean {
  const before = copied.filter(({ path }) => path.startsWith("keys/"));
  const names = namesIn(source, "keys");
  return (
    names.length === before.length &&
    before.every(({ path, sha256 }) => {
      const file = join(source.root, path);
      return existsSync(file) && digestOfFile(file).sha256 === sha256;
    })
  );
}
