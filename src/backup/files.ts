/** Files of a backup: digests, copies, and making them durable. */
import { createHash } from "node:crypto";
import { closeSync, fsyncSync, linkSync, openSync, readSync, statSync, writeSync } from "node:fs";
import { PRIVATE_FILE_MODE } from "../datadir/private-files.ts";
import { systemCode } from "../failure.ts";

const PIECE_BYTES = 1024 * 1024;

/** Length and SHA-256 of a file. */
export interface Digest {
  size: number;
  sha256: string;
}

/** The digest of a file as it is. */
export function digestOfFile(path: string): Digest {
  return eachPiece(path, () => {});
}

/** Copies a file to a new one, mode 0600, durably; answers the digest of what was copied. */
export function copyFile(from: string, to: string): Digest {
  const target = openSync(to, "wx", PRIVATE_FILE_MODE);
  try {
    const digest = eachPiece(from, (piece) => {
      for (let written = 0; written < piece.length; ) written += writeSync(target, piece, written);
    });
    fsyncSync(target);
    return digest;
  } finally {
    closeSync(target);
  }
}

function eachPiece(path: string, take: (piece: Uint8Array) => void): Digest {
  const hash = createHash("sha256");
  const buffer = Buffer.alloc(PIECE_BYTES);
  const file = openSync(path, "r");
  try {
    let size = 0;
    for (;;) {
      const count = readSync(file, buffer, 0, PIECE_BYTES, null);
      if (count === 0) return { size, sha256: hash.digest("hex") };
      const piece = buffer.subarray(0, count);
      hash.update(piece);
      take(piece);
      size += count;
    }
  } finally {
    closeSync(file);
  }
}

/** What a file system answers that has no hard links, or no more for this file. */
const CANNOT_LINK = new Set(["EPERM", "EMLINK", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EXDEV"]);

/** Has a second name for a file, or a copy of it where the file system has no second names. */
export function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch (error) {
    if (!CANNOT_LINK.has(systemCode(error) ?? "")) throw error;
    copyFile(from, to);
  }
}

/** Bytes of a file; 0 when it is not there. */
export function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
