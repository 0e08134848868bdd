/**
 * A counter that all processes on one data directory share: a small file, mapped into memory. Whoever
 * changed `control.db` advances it after the commit, and the daemon reads it with every request, which
 * costs nanoseconds; so a key revoked by the command line is refused by the very next request.
 */
import { existsSync } from "node:fs";
import { createPrivateFile } from "../datadir/private-files.ts";

/** A 64-bit word; the low half is the counter, which may wrap, since only a difference means something. */
const FILE_BYTES = 8;

export class Generation {
  readonly #word: Int32Array;

  private constructor(word: Int32Array) {
    this.#word = word;
  }

  /** Maps the counter's file, which is made when it is not there. It is never truncated or replaced. */
  static open(path: string): Generation {
    if (!existsSync(path)) createPrivateFile(path, new Uint8Array(FILE_BYTES));
    const bytes = Bun.mmap(path, { shared: true });
    if (bytes.length < FILE_BYTES) throw new Error(`${path} is shorter than ${FILE_BYTES} bytes`);
    return new Generation(new Int32Array(bytes.buffer, bytes.byteOffset, 1));
  }

  /** The counter now. */
  get current(): number {
    return Atomics.load(this.#word, 0);
  }

  /** Tells every process that something changed. To be called after the change is on disk. */
  advance(): void {
    Atomics.add(this.#word, 0, 1);
  }
}
