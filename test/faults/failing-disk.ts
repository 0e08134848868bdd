/** A disk that fails on demand, under a daemon of its own process: see failing-disk.c. */
import { closeSync, openSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { TemporaryDirectory } from "../temporary.ts";

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
}

/** Needed are LD_PRELOAD and a C compiler. */
export const CAN_FAIL = process.platform === "linux" && Bun.which("cc") !== null;

export class FailingDisk {
  readonly #control: string;
  /** The environment that a process must be started with. */
  readonly env: Record<string, string>;

  private constructor(control: string, library: string) {
    this.#control = control;
    this.env = { LD_PRELOAD: library, FAILING_DISK: control };
  }

  /** Builds the library. */
  static make(directory: TemporaryDirectory): FailingDisk {
    const library = directory.join("failing-disk.so");
    const { exitCode, stderr } = Bun.spawnSync([
      "cc",
      "-shared",
      "-fPIC",
      "-O1",
      "-o",
      library,
      SOURCE,
      "-ldl",
    ]);
    if (exitCode !== 0) throw new Error(`the library could not be built: ${stderr}`);
    const control = directory.join("failing-disk.control");
    writeFileSync(control, Buffer.alloc(CONTROL_BYTES));
    return new FailingDisk(control, library);
  }

  /** From now on these calls fail on files whose path holds `path`. */
  fail({ write = 0, sync = 0, read = 0, open = 0 }: Failing, path: string): void {
    const bytes = Buffer.alloc(CONTROL_BYTES);
    [write, sync, read, open].forEach((code, index) => void bytes.writeInt32LE(code, index * 4));
    bytes.write(path, PATH_AT);
    const file = openSync(this.#control, "r+");
    try {
      writeSync(file, bytes, 0, CONTROL_BYTES, 0);
    } finally {
      closeSync(file);
    }
  }

  /** Everything works again. */
  heal(): void {
    this.fail({}, "");
  }
}
