/**
 * Disk space that is reserved for when the disk is full: recording reads and deletions needs space, too. When a write
 * finds no space, the reserve is released. Until it can be created again, operations that make the data grow are
 * refused.
 */
import { randomBytes } from "node:crypto";
import { rmSync, statSync } from "node:fs";
import { rename, rm, statfs, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { type DiskSpace, freeBytes } from "../../store/disk-space.ts";
import { PRIVATE_FILE_MODE } from "./private-files.ts";

const MIB = 1024 * 1024;
/**
 * The possible sizes of the reserve, bytes: room for tens of thousands of recorded reads, or for thousands on a small
 * disk.
 */
const RESERVE_BYTES: readonly number[] = [16 * MIB, 4 * MIB];
/** How often the free space is checked, ms. */
const INTERVAL_MS = 1_000;

export class DiskReserve implements Disposable {
  /** The size of the reserve, bytes; 0 without one. */
  #held: number;
  /** The size of the released reserve, bytes. While less is free, the disk counts as full. */
  #released = 0;
  #looking = false;
  readonly #timer: NodeJS.Timeout;

  /** Keeps `space` up to date. `onChange` is called when the disk is full, and when it has space again. */
  constructor(
    private readonly path: string,
    private readonly space: DiskSpace,
    private readonly onChange: () => void,
  ) {
    // The reserve of an earlier process can be used as well.
    const found = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    this.#held = RESERVE_BYTES.includes(found) ? found : 0;
    void this.#look();
    this.#timer = setInterval(() => void this.#look(), INTERVAL_MS).unref();
  }

  /** Releases the reserve because the disk is full. */
  release(): void {
    // Set before the space is freed, so that no operation that makes the data grow can use it.
    this.#setFull(true);
    if (this.#held === 0) return;
    rmSync(this.path, { force: true });
    this.#released = this.#held;
    this.#held = 0;
  }

  #setFull(isFull: boolean): void {
    if (this.space.isFull === isFull) return;
    this.space.isFull = isFull;
    this.onChange();
  }

  /** Checks how much space is free, and creates the reserve when there is none. */
  async #look(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    try {
      const free = freeBytes(await statfs(dirname(this.path)));
      this.space.free = free;
      if (this.#held > 0) return;
      this.#held = await this.#create(free);
      if (this.#held > 0) this.#setFull(false);
    } catch {
      // The next check may succeed. Writes that the disk refuses meanwhile are reported by their callers.
    } finally {
      this.#looking = false;
    }
  }

  /**
   * Creates the reserve, unless it would take more than half of the free space. Returns its size; 0 if there is none.
   */
  async #create(free: number): Promise<number> {
    const size = RESERVE_BYTES.find((bytes) => bytes >= this.#released && 2 * bytes <= free);
    if (size === undefined) return 0;
    const draft = `${this.path}.tmp`;
    try {
      // Random bytes, so that no file system compresses them: none compresses more than 1 MiB at once.
      await writeFile(draft, Buffer.alloc(size, randomBytes(MIB)), { mode: PRIVATE_FILE_MODE, flush: true });
      await rename(draft, this.path);
      return size;
    } catch {
      await rm(draft, { force: true }).catch(() => {});
      return 0;
    }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}
