/** Reading a large file in pieces that end where a line ends. */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";

const PIECE_BYTES = 1024 * 1024;
const NEW_LINE = 0x0a;

/** A range of bytes of a file. */
export interface FileRange {
  from: number;
  to: number;
}

/**
 * The bytes of a range in pieces that end with a line, except where one is longer than a piece, and for the
 * last one. A piece is good until the next is asked for: its memory is used again.
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

/** Most lines end within the first of these; nothing is looked for past the last. */
const LOOK_BYTES = [16 * 1024, PIECE_BYTES] as const;

/** Returns where the first line after `at` begins; null when it is too far. */
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
