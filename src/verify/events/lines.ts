/** Reads a large file in pieces that end at line ends. */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";

const PIECE_BYTES = 1024 * 1024;
const NEW_LINE = 0x0a;

/** A range of bytes of a file. */
export interface FileRange {
  from: number;
  to: number;
}

/**
 * Yields the bytes of a range in pieces that end at line ends, except the last piece, and pieces of a longer line. A
 * piece is valid only until the next one is requested, since its memory is reused.
 */
export function* linesOf(path: string, { from, to }: FileRange): Generator<Uint8Array> {
  const file = openSync(path, "r");
  try {
    const buffer = new Uint8Array(PIECE_BYTES);
    let held = 0;
    for (let at = from; at < to; ) {
      const wanted = Math.min(buffer.length - held, to - at);
      const read = readSync(file, buffer, held, wanted, at);
      if (read === 0) break;
      at += read;
      held += read;
      const lineEnd = buffer.subarray(0, held).lastIndexOf(NEW_LINE) + 1;
      const end = lineEnd > 0 && at < to ? lineEnd : held === buffer.length || at >= to ? held : 0;
      if (end === 0) continue;
      yield buffer.subarray(0, end);
      buffer.copyWithin(0, end, held);
      held -= end;
    }
    if (held > 0) yield buffer.subarray(0, held);
  } finally {
    closeSync(file);
  }
}

/** How far a line end is searched for, bytes: at first, which is enough for most lines, and at most. */
const LOOK_BYTES = [16 * 1024, PIECE_BYTES] as const;

/** Returns where the first line after `at` begins; null when it is too far away. */
export function nextLine(path: string, at: number): number | null {
  const file = openSync(path, "r");
  try {
    for (const bytes of LOOK_BYTES) {
      const buffer = Buffer.allocUnsafe(bytes);
      const read = readSync(file, buffer, 0, Math.min(bytes, fstatSync(file).size - at), at);
      const end = buffer.subarray(0, read).indexOf(NEW_LINE);
      if (end >= 0) return at + end + 1;
    }
    return null;
  } finally {
    closeSync(file);
  }
}
