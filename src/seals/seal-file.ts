/**
 * The file of a workspace's seals, outside its database: what an operator ships elsewhere. Append-only
 * text, each seal followed by an empty line, so that empty lines alone divide it:
 *
 *   <origin>⏎<size>⏎<root>⏎ ⏎ — <name> <signature>⏎ ⏎ <origin>⏎ …
 *
 * A seal may stand in it more than once: again with the cosignatures of witnesses, or when two
 * processes brought the file up to date at once.
 */
import { closeSync, fstatSync, fsyncSync, ftruncateSync, openSync, readSync, writeSync } from "node:fs";
import { PRIVATE_FILE_MODE } from "../datadir/private-files.ts";
import { systemCode } from "../failure.ts";
import { NoteError } from "../log/note.ts";
import { parseSeal, type Seal } from "../log/seal.ts";

/** How much of the file's end is read to find its last seal: at first, and when that holds no whole one. */
const TAIL_BYTES = 16 * 1024;
const LONG_TAIL_BYTES = 1024 * 1024;

/** One seal of the file. */
export interface FiledSeal {
  seal: Seal;
  note: string;
}

/**
 * The seals of a file's text, in its order; a cut-off record at the end is left out.
 * @throws {NoteError} when a record is no seal
 */
export function parseSealFile(text: string): FiledSeal[] {
  const parts = text.split("\n\n");
  const seals: FiledSeal[] = [];
  for (let at = 0; at + 2 < parts.length; at += 2) {
    const note = `${parts[at]}\n\n${parts[at + 1]}\n`;
    seals.push({ seal: parseSeal(note), note });
  }
  return seals;
}

/**
 * The seals of a file, read piece by piece; a cut-off record at the end is left out.
 * @throws {NoteError} when a record is no seal
 */
export async function* readSealFile(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<FiledSeal> {
  let bytes: Buffer = Buffer.alloc(0);
  for await (const piece of pieces) {
    bytes = Buffer.concat([bytes, piece]);
    if (bytes.length > LONG_TAIL_BYTES && !bytes.includes("\n\n")) throw new NoteError("not a file of seals");
    const whole = wholeRecords(bytes);
    yield* parseSealFile(bytes.toString("utf8", 0, whole));
    bytes = bytes.subarray(whole);
  }
}

/** The last seal of the file; null when it has none. @throws {NoteError} for a foreign file */
export function lastFiledSeal(path: string): FiledSeal | null {
  const tail = readTail(path);
  const parts = tail.toString("utf8", 0, wholeRecords(tail)).split("\n\n");
  if (parts.length < 3) return null;
  const note = `${parts.at(-3)}\n\n${parts.at(-2)}\n`;
  return { seal: parseSeal(note), note };
}

/** Adds seals to the end of the file, durably. What a cut-off write left behind is removed first. */
export function appendSeals(path: string, notes: readonly string[]): void {
  const file = openSync(path, "a+", PRIVATE_FILE_MODE);
  try {
    const { size } = fstatSync(file);
    const tail = readAt(file, size);
    const cutOff = tail.length - wholeRecords(tail);
    if (cutOff > 0) ftruncateSync(file, size - cutOff);
    const bytes = Buffer.from(notes.map((note) => `${note}\n`).join(""));
    for (let written = 0; written < bytes.length; ) written += writeSync(file, bytes, written);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/**
 * The length of what ends with the last whole record, in bytes: a crash may cut the file inside a character. When
 * only the file's end was read it may begin inside a record, so records are told apart from the end: the signatures
 * of a note begin with a dash.
 */
function wholeRecords(bytes: Buffer): number {
  for (let end = bytes.lastIndexOf("\n\n"); end > 0; end = bytes.lastIndexOf("\n\n", end - 1)) {
    const lastLine = bytes.lastIndexOf("\n", end - 1) + 1;
    if (bytes.subarray(lastLine, end).indexOf("— ") === 0) return end + 2;
  }
  return 0;
}

function readTail(path: string): Buffer {
  let file: number;
  try {
    file = openSync(path, "r");
  } catch (error) {
    if (systemCode(error) === "ENOENT") return Buffer.alloc(0);
    throw error;
  }
  try {
    return readAt(file, fstatSync(file).size);
  } finally {
    closeSync(file);
  }
}

/** The end of a file, from the beginning of a record on. */
function readAt(file: number, size: number): Buffer {
  for (const length of [TAIL_BYTES, LONG_TAIL_BYTES]) {
    const bytes = readBytes(file, Math.max(0, size - length), size);
    if (size <= length) return bytes;
    // The beginning may be inside a record: the first whole one follows the end of that.
    const signatures = bytes.indexOf("\n\n— ");
    const next = signatures < 0 ? -1 : bytes.indexOf("\n\n", signatures + 2);
    if (next >= 0 && bytes.indexOf("\n\n— ", next + 2) >= 0) return bytes.subarray(next + 2);
  }
  throw new NoteError("the file of seals has a record that is too long");
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
