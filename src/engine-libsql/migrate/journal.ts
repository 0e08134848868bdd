/** The progress of the move of one database, in a file, and the snapshots that the move compares. */
import { existsSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { makePrivateDirectory, replaceFile } from "../../core/datadir/private-files.ts";
import type { EncryptionKey } from "../../store/encryption.ts";
import { copyDatabase } from "../../store/snapshot.ts";
import type { ReadPosition } from "./differences.ts";

export interface Progress {
  /** The server to which the database moves. */
  url: string;
  /** The number of the snapshot that the server has: all of it when `place` is null, otherwise up to `place`. */
  base: number;
  place: ReadPosition | "start" | null;
}

export class Journal {
  readonly #file: string;

  /** @param folder of the files of all moves @param name of the database */
  constructor(
    private readonly folder: string,
    private readonly name: string,
    private readonly encryptionKey: EncryptionKey | null,
  ) {
    makePrivateDirectory(folder);
    this.#file = join(folder, `${name}.json`);
  }

  read(): Progress | null {
    return existsSync(this.#file) ? (JSON.parse(readFileSync(this.#file, "utf8")) as Progress) : null;
  }

  write(progress: Progress): void {
    replaceFile(this.#file, JSON.stringify(progress));
  }

  /** Returns the path of a snapshot. */
  snapshot(number: number): string {
    return join(this.folder, `${this.name}.${number}.db`);
  }

  /** Makes a snapshot of the database, unless the file of this number exists. */
  take(number: number, database: string): void {
    const path = this.snapshot(number);
    if (existsSync(path)) return;
    const draft = `${path}.part`;
    copyDatabase(database, draft, this.encryptionKey);
    renameSync(draft, path);
  }

  drop(number: number): void {
    rmSync(this.snapshot(number), { force: true });
  }

  /** Removes the journal's file and the snapshots. */
  end(): void {
    const progress = this.read();
    rmSync(this.#file, { force: true });
    for (const number of progress === null ? [] : [progress.base, progress.base + 1]) this.drop(number);
  }
}
