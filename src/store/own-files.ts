/** The files of an open database as this process last left them: they show when another program replaces or writes them. */
import { statSync } from "node:fs";
import { readPage } from "./checkpoint.ts";
import { digestOfPage, type WriteAheadLog } from "./wal.ts";

/** What tells a file from another, and from itself before a write. */
interface Stamp {
  dev: number;
  ino: number;
  size: number;
  mtimeMs: number;
}

const stampOf = (path: string): Stamp | null => statSync(path, { throwIfNoEntry: false }) ?? null;

/** What happened to a file since it was noted. */
type Change = "none" | "written" | "replaced";

function changeOf(before: Stamp | null, now: Stamp | null): Change {
  if (before === null) return now === null ? "none" : "written";
  if (now === null || now.ino !== before.ino || now.dev !== before.dev) return "replaced";
  return now.size === before.size && now.mtimeMs === before.mtimeMs ? "none" : "written";
}

/** What another program than governd did to the files, see {@link OwnFiles.foreignChange}. */
type ForeignChange = "log_written" | "replaced" | null;

/** The connection whose files they are. */
interface Owner {
  value<V>(sql: string, parameters?: readonly string[]): V | undefined;
}

export class OwnFiles {
  #database: Stamp | null = null;
  #log: Stamp | null = null;
  /** A table with one page, which every commit changes, and a text in it when the file was opened. */
  #watched: { table: string; text: string } | null = null;
  /** The digest of that page when it was last copied back; null until then. */
  #digest: bigint | null = null;
  #isDisowned = false;

  constructor(
    private readonly path: string,
    private readonly owner: Owner,
    private readonly log: WriteAheadLog,
  ) {
    this.note();
  }

  /**
   * Names a table that every commit changes, and that has one page which holds `text` now: this page tells a database
   * that another program overwrote.
   */
  watch(table: string, text: string): void {
    this.#watched = { table, text };
  }

  /** Notes both files as they are now. */
  note(): void {
    this.#database = stampOf(this.path);
    this.noteLog();
  }

  /** To be called after each commit. */
  noteLog(): void {
    this.#log = stampOf(`${this.path}-wal`);
  }

  /** Notes that the first `frames` frames of the log were copied back. */
  copied(frames: number): void {
    if (this.#watched !== null) this.#digest = this.log.digestOf(this.#watchedPage(), frames) ?? this.#digest;
  }

  /**
   * Returns what another program did to the files since they were noted; to be called within a transaction that may
   * write. `null`: nothing. `"log_written"`: it wrote to the write-ahead log, which a process of governd that was killed
   * does, too; the connection may be used when another one reads the same from the file. `"replaced"`: the files are not
   * those that were opened, or were overwritten.
   *
   * @param othersWrote whether `PRAGMA data_version` says that another process committed
   */
  foreignChange(othersWrote: boolean): ForeignChange {
    const [database, log] = [this.#databaseChange(), this.#logChange()];
    if (database === "replaced" || (log === "replaced" && !othersWrote)) return "replaced";
    if (database === "written" && !this.#isExplained(othersWrote)) return "replaced";
    if (database === "written" || othersWrote) this.note();
    return log === "written" && !othersWrote ? "log_written" : null;
  }

  /** Whether the database is as noted. */
  isAsNoted(): boolean {
    return this.#databaseChange() === "none";
  }

  /** Whether other files are in the place of these. Another process may have written to them: that does not count. */
  isReplaced(): boolean {
    return this.#databaseChange() === "replaced" || changeOf(this.#log, stampOf(`${this.path}-wal`)) === "replaced";
  }

  /** Whether the log may be copied into the database: neither another file nor an overwritten one is the connection's. */
  mayCopy(): boolean {
    const change = this.#databaseChange();
    return !this.#isDisowned && (change === "none" || (change === "written" && this.#isExplained(false)));
  }

  /** Has the closing of the connection leave the files as they are. */
  disown(): void {
    this.#isDisowned = true;
  }

  get isDisowned(): boolean {
    return this.#isDisowned;
  }

  #databaseChange(): Change {
    return changeOf(this.#database, stampOf(this.path));
  }

  /** A log that became shorter lost frames, so it is another one. */
  #logChange(): Change {
    const now = stampOf(`${this.path}-wal`);
    const change = changeOf(this.#log, now);
    return change === "written" && (now?.size ?? 0) < (this.#log?.size ?? 0) ? "replaced" : change;
  }

  /** Whether the database holds what governd copied into it: this connection, or another process from the same log. */
  #isExplained(othersWrote: boolean): boolean {
    if (this.#watched === null) return true;
    const page = this.#watchedPage();
    const content = readPage(this.path, page, this.owner.value<number>("PRAGMA page_size") ?? 0);
    const digest = digestOfPage(content);
    if (digest === this.#digest || (this.#digest === null && content.includes(this.#watched.text))) return true;
    this.log.readNew();
    const isCopied = othersWrote || this.log.holds(page, digest);
    if (isCopied) this.#digest = digest;
    return isCopied;
  }

  #watchedPage(): number {
    const table = this.#watched?.table ?? "";
    return this.owner.value<number>("SELECT rootpage FROM sqlite_schema WHERE name = ?", [table]) ?? 0;
  }
}
