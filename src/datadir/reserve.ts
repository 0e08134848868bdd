/**
 * Disk space that is reserved for when the disk is full: recording reads and deletions needs space, too. When a write
 * finds no space, the reserve is released. Until it can be created again, operations that make the data grow are refused.
 */
import { randomBytes } from "node:crypto";
import { rmSync, statSync } from "node:fs";
import { rename, rm, statfs, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { PRIVATE_FILE_MODE } from "./private-files.ts";

/** Enough for some thousands of recorded reads. */
const RESERVE_BYTES = 4 * 1024 * 1024;
/** The free space that is required to create the reserve. */
const NEEDED_BYTES = 2 * RESERVE_BYTES;
/** Time between two attempts to create the reserve. */
const RETRY_MS = 1_000;

export class DiskReserve implements Disposable {
  #held: boolean;
  #sparing = false;
  #disposed = false;
  #timer: NodeJS.Timeout | null = null;

  /** `onChange` is called with true when only operations that need little space are accepted, and with false afterwards. */
  constructor(
    private readonly path: string,
    private readonly onChange: (sparing: boolean) => void,
  ) {
    // The reserve of an earlier process can be used as well.
    this.#held = statSync(path, { throwIfNoEntry: false })?.size === RESERVE_BYTES;
    if (!this.#held) this.#retry();
  }

  /** Releases the reserve because the disk is full. Does nothing when there is no reserve. */
  release(): void {
    if (!this.#held) return;
    rmSync(this.path, { force: true });
    this.#held = false;
    this.#sparing = true;
    this.onChange(true);
    this.#retry();
  }

  #retry(): void {
    if (this.#disposed) return;
    this.#timer = setTimeout(() => void this.#take(), RETRY_MS).unref();
  }

  async #take(): Promise<void> {
    this.#held = await this.#write();
    if (!this.#held) return this.#retry();
    if (!this.#sparing) return;
    this.#sparing = false;
    this.onChange(false);
  }

  /** Creates the reserve. Reports whether it succeeded. */
  async #write(): Promise<boolean> {
    const draft = `${this.path}.tmp`;
    try {
      const { bavail, bsize } = await statfs(dirname(this.path));
      if (bavail * bsize < NEEDED_BYTES) return false;
      // Random bytes, so that no file system compresses them.
      await writeFile(draft, randomBytes(RESERVE_BYTES), { mode: PRIVATE_FILE_MODE, flush: true });
      await rename(draft, this.path);
      return true;
    } catch {
      await rm(draft, { force: true }).catch(() => {});
      return false;
    }
  }

  [Symbol.dispose](): void {
    this.#disposed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }
}
