/**
 * The seal file of a workspace, outside its database, which an operator copies elsewhere. It is append-only text. Each
 * seal is followed by an empty line, so that empty lines alone delimit records:
 *
 *   <origin>⏎<size>⏎<root>⏎ ⏎ — <name> <signature>⏎ ⏎ <origin>⏎ …
 *
 * A seal may occur more than once: again with cosignatures or a time stamp, or when two processes updated the file at the
 * same time.
 */
import { isUtf8 } from "node:buffer";
import { fstatSync, fsyncSync, ftruncateSync, readFileSync, readSync } from "node:fs";
import { systemCode } from "../../failure.ts";
import { NoteError } from "../../log/note.ts";
import { parseSeal, type Seal } from "../../log/seal.ts";
import { withFile, writeAll } from "../../store/sync.ts";
import { PRIVATE_FILE_MODE } from "../datadir/private-files.ts";

/** How much of the file's end is read to find its last seal, bytes: at first, and if that has no complete seal. */
const TAIL_BYTES = 16 * 1024;
const LONG_TAIL_BYTES = 1024 * 1024;

/** One seal of the file. */
export interface FiledSeal {
  seal: Seal;
  note: string;
}

/** A record: the lines of a note's text, an empty line, lines of signatures, and an empty line. */
const RECORD = /((?:(?!— )[^\n]+\n)+\n(?:— [^\n]+\n)+)\n/y;

/**
 * Parses a seal file. Returns the seals in order, and the text after the last complete record.
 * @throws {NoteError} when a record is not a seal
 */
export function parseSealFile(text: string): { seals: FiledSeal[]; rest: string } {
  const seals: FiledSeal[] = [];
  let end = 0;
  for (RECORD.lastIndex = 0; ; end = RECORD.lastIndex) {
    const note = RECORD.exec(text)?.[1];
    if (note === undefined) return { seals, rest: text.slice(end) };
    seals.push({ seal: parseSeal(note), note });
  }
}

/**
 * Reads the seals of a seal file piece by piece. Returns the bytes after the last complete record.
 * @throws {NoteError} when a record is not a seal
 */
export async function* readSealFile(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<FiledSeal, Buffer> {
  let bytes: Buffer = Buffer.alloc(0);
  for await (const piece of pieces) {
    bytes = Buffer.concat([bytes, piece]);
    if (bytes.length > LONG_TAIL_BYTES && !bytes.includes("\n\n")) throw new NoteError("not a seal file");
    const whole = wholeRecords(bytes);
    if (!isUtf8(bytes.subarray(0, whole))) throw new NoteError("a seal file is UTF-8");
    const { seals, rest } = parseSealFile(bytes.toString("utf8", 0, whole));
    yield* seals;
    if (rest !== "") throw new NoteError("something between two seals is no seal");
    bytes = bytes.subarray(whole);
  }
  return bytes;
}

/** Returns the last seal of a file; null when it has none. @throws {NoteError} when it is not a seal file */
export function lastFiledSeal(path: string): FiledSeal | null {
  const tail = readTail(path);
  const parts = tail.toString("utf8", 0, wholeRecords(tail)).split("\n\n");
  if (parts.length < 3) return null;
  const note = `${parts.at(-3)}\n\n${parts.at(-2)}\n`;
  return { seal: parseSeal(note), note };
}

/** Reports whether a file has a seal, regardless of its signatures. */
export const holdsSeal = (path: string, { note }: Seal): boolean => readFileSync(path).includes(`${note.text}\n`);

/** Appends seals to a file, durably. Removes an incomplete record of an interrupted write first. */
export function appendSeals(path: string, notes: readonly string[]): void {
  const append = (file: number) => {
    const { size } = fstatSync(file);
    const tail = readAt(file, size);
    const cutOff = tail.length - wholeRecords(tail);
    if (cutOff > 0) ftruncateSync(file, size - cutOff);
    const bytes = Buffer.from(notes.map((note) => `${note}\n`).join(""));
    writeAll(file, bytes);
    fsyncSync(file);
  };
  withFile(path, "a+", append, PRIVATE_FILE_MODE);
}

/**
 * Returns where the last complete record ends, in bytes, since a crash may truncate the file inside a character.
 * `bytes` may be only the file's end, and begin inside a record, so records are found from the end: the signatures of a
 * note begin with a dash.
 */
function wholeRecords(bytes: Buffer): number {
  for (let end = bytes.lastIndexOf("\n\n"); end > 0; end = bytes.lastIndexOf("\n\n", end - 1)) {
    const lastLine = bytes.lastIndexOf("\n", end - 1) + 1;
    if (bytes.subarray(lastLine, end).indexOf("— ") === 0) return end + 2;
  }
  return 0;
}

function readTail(path: string): Buffer {
  try {
    return withFile(path, "r", (file) => readAt(file, fstatSync(file).size));
  } catch (error) {
    if (systemCode(error) === "ENOENT") return Buffer.alloc(0);
    throw error;
  }
}

/** Returns the end of a file, beginning at a record. */
function readAt(file: number, size: number): Buffer {
  for (const length of [TAIL_BYTES, LONG_TAIL_BYTES]) {
    const bytes = readBytes(file, Math.max(0, size - length), size);
    if (size <= length) return bytes;
    // The bytes may begin inside a record, after which the first complete record begins.
    const signatures = bytes.indexOf("\n\n— ");
    const next = signatures < 0 ? -1 : bytes.indexOf("\n\n", signatures + 2);
    if (next >= 0 && bytes.indexOf("\n\n— ", next + 2) >= 0) return bytes.subarray(next + 2);
  }
  throw new NoteError("the seal file has a record that is too long");
}

function readBytes(file: number, start: number, end: number): Buffer {
  const bytes = Buffer.alloc(end - start);
  let read = 0;
  while (read < bytes.length) {
    const count = readSync(file, bytes, read, bytes.length - read, start + read);
    if (count === 0) break;
    read += count;
  }
  return bytes.subarray(0, read);
}
