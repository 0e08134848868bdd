/**
 * A counter that all processes on one data directory share: a small file that is mapped into memory. A process that has
 * changed keys, members, accounts or sinks advances it after its commit. The daemon reads it with every request, which takes
 * nanoseconds. So what is cached of them is read again after the command line has changed them.
 */
import { existsSync } from "node:fs";
import { createPrivateFile } from "../../core/datadir/private-files.ts";

/** A 64-bit word. The low half is the counter. It may wrap, since only a difference matters. */
const FILE_BYTES = 8;

export class Generation {
  private constructor(private readonly word: Int32Array) {}

  /** Maps the counter's file and creates it if it is missing. The file is never truncated or replaced. */
  static open(path: string): Generation {
    if (!existsSync(path)) createPrivateFile(path, new Uint8Array(FILE_BYTES));
    const bytes = Bun.mmap(path, { shared: true });
    if (bytes.length < FILE_BYTES) throw new Error(`${path} is shorter than ${FILE_BYTES} bytes`);
    return new Generation(new Int32Array(bytes.buffer, bytes.byteOffset, 1));
  }

  /** The present value of the counter. */
  get current(): number {
    return Atomics.load(this.word, 0);
  }

  /** Notifies every process of a change of the database; to be called after the change is on disk. */
  advance(): void {
    Atomics.add(this.word, 0, 1);
  }
}
