/** Files that say how far the move of one database is, and the snapshots that it goes by. */
import { existsSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { makePrivateDirectory, replaceFile } from "../datadir/private-files.ts";
import type { EncryptionKey } from "../store/encryption.ts";
import { copyDatabase } from "../store/snapshot.ts";
import type { Place } from "./differences.ts";

export interface Progress {
  /** The server to which the database moves. */
  url: string;
  /** The snapshot that the server has, up to `place` while that is not null. */
  base: number;
  place: Place | "start" | null;
}

export class Journal {
  readonly #file: string;

  /** @param folder where the files of all moves are; @param name of the database */
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

  /** The file of a snapshot. */
  snapshot(number: number): string {
    return join(this.folder, `${this.name}.${number}.db`);
  }

  /** Copies the database, unless that was done before. */
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

  /** Forgets the move. */
  end(): void {
    const progress = this.read();
    rmSync(this.#file, { force: true });
    for (const number of progress === null ? [] : [progress.base, progress.base + 1]) this.drop(number);
  }
}
