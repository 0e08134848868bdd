/** A file system of its own, in memory, for tests that fill a disk. It needs the right to mount one. */
import { mkdirSync } from "node:fs";
import { temporaryDirectory } from "../temporary.ts";

/** Whether this process may mount a disk. */
export const CAN_MOUNT =
  process.platform === "linux" &&
  process.getuid?.() === 0 &&
  (() => {
    using probe = temporaryDirectory();
    const { exitCode } = Bun.spawnSync(["mount", "-t", "tmpfs", "-o", "size=64k", "none", probe.path]);
    if (exitCode === 0) Bun.spawnSync(["umount", probe.path]);
    return exitCode === 0;
  })();

export class SmallDisk implements Disposable {
  readonly #directory = temporaryDirectory();
  readonly path = this.#directory.join("disk");

  constructor(size: string) {
    mkdirSync(this.path);
    Bun.spawnSync(["mount", "-t", "tmpfs", "-o", `size=${size}`, "none", this.path]);
  }

  [Symbol.dispose](): void {
    Bun.spawnSync(["umount", "-l", this.path]);
    this.#directory[Symbol.dispose]();
  }
}
