/** A disk that fails on demand, under a daemon of its own process: see failing-disk.c. */
import { closeSync, openSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { temporaryDirectory } from "../temporary.ts";

const SOURCE = join(import.meta.dir, "failing-disk.c");
const CONTROL_BYTES = 4096;
const PATH_AT = 64;

/** Numbers of Linux (errno.h). */
export const ERRNO = { EIO: 5, ENOSPC: 28, EROFS: 30 } as const;

/** The errno with which each kind of call fails; what is not named works. */
export interface Failing {
  write?: number;
  sync?: number;
  read?: number;
  open?: number;
  /** Of the calls that would fail, only every Nth does, in an order that looks random. */
  oneIn?: number;
}

/** Needed are LD_PRELOAD and a C compiler. */
export const CAN_FAIL = process.platform === "linux" && Bun.which("cc") !== null;

/** The library that a process is started with, built once. */
export class FailingLibrary implements Disposable {
  readonly #directory = temporaryDirectory();
  readonly #path = this.#directory.join("failing-disk.so");
  #built = false;

  /** A disk that works, controlled by this file, which is made. */
  disk(control: string): FailingDisk {
    if (!this.#built) this.#build();
    writeFileSync(control, Buffer.alloc(CONTROL_BYTES));
    return new FailingDisk(control, this.#path);
  }

  #build(): void {
    const words = ["cc", "-shared", "-fPIC", "-O1", "-o", this.#path, SOURCE, "-ldl"];
    const { exitCode, stderr } = Bun.spawnSync(words);
    if (exitCode !== 0) throw new Error(`the library could not be built: ${stderr}`);
    this.#built = true;
  }

  [Symbol.dispose](): void {
    this.#directory[Symbol.dispose]();
  }
}

export class FailingDisk {
  readonly #control: string;
  /** The environment that a process must be started with. */
  readonly env: Record<string, string>;

  constructor(control: string, library: string) {
    this.#control = control;
    this.env = { LD_PRELOAD: library, FAILING_DISK: control };
  }

  /** From now on these calls fail on files whose path holds `path`. */
  fail({ write = 0, sync = 0, read = 0, open = 0, oneIn = 1 }: Failing, path: string): void {
    const bytes = Buffer.alloc(CONTROL_BYTES);
    [write, sync, read, open, oneIn].forEach((code, index) => void bytes.writeInt32LE(code, index * 4));
    bytes.write(path, PATH_AT);
    const file = openSync(this.#control, "r+");
    try {
      writeSync(file, bytes, 0, CONTROL_BYTES, 0);
    } finally {
      closeSync(file);
    }
  }

  /** Ends all failures. */
  heal(): void {
    this.fail({}, "");
  }
}
