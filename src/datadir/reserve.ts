/**
 * Space that is set aside on the disk of a data directory, for when that is full: what reads are recorded with
 * needs space, too, and so does deleting. When a write finds no space the reserve is given up, and until it could
 * be set aside again nothing is taken that makes the data grow.
 */
import { randomBytes } from "node:crypto";
import { rmSync, statSync } from "node:fs";
import { rename, rm, statfs, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { PRIVATE_FILE_MODE } from "./private-files.ts";

/** Room for some thousands of reads. */
const RESERVE_BYTES = 4 * 1024 * 1024;
/** The disk must have this much space before some is set aside. */
const NEEDED_BYTES = 2 * RESERVE_BYTES;
/** Between two tries to set it aside. */
const RETRY_MS = 1_000;

export class DiskReserve implements Disposable {
  readonly #path: string;
  readonly #onChange: (sparing: boolean) => void;
  #held: boolean;
  #sparing = false;
  #disposed = false;
  #timer: NodeJS.Timeout | null = null;

  /** `onChange` is told when only what needs little space is to be done, and when that is over. */
  constructor(path: string, onChange: (sparing: boolean) => void) {
    this.#path = path;
    this.#onChange = onChange;
    // One that an earlier process set aside is as good.
    this.#held = statSync(path, { throwIfNoEntry: false })?.size === RESERVE_BYTES;
    if (!this.#held) this.#retry();
  }

  /** Gives the space up: the disk is full. Without a reserve nothing changes. */
  release(): void {
    if (!this.#held) return;
    rmSync(this.#path, { force: true });
    this.#held = false;
    this.#sparing = true;
    this.#onChange(true);
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
    this.#onChange(false);
  }

  /** Whether the space is set aside now. A disk that refuses is asked again later. */
  async #write(): Promise<boolean> {
    const draft = `${this.#path}.tmp`;
    try {
      const { bavail, bsize } = await statfs(dirname(this.#path));
      if (bavail * bsize < NEEDED_BYTES) return false;
      // Random, so that no file system packs it.
      await writeFile(draft, randomBytes(RESERVE_BYTES), { mode: PRIVATE_FILE_MODE, flush: true });
      await rename(draft, this.#path);
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
