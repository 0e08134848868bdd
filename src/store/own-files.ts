/**
 * Remembers the files of an open database as this process last left them, to detect that another program changed them.
 */
import { statSync } from "node:fs";
import { readPage } from "./checkpoint.ts";
import { digestOfPage, type WriteAheadLog } from "./wal.ts";

/** Identifies a file and its state: a write or a replacement changes it. */
interface Stamp {
  dev: number;
  ino: number;
  size: number;
  mtimeMs: number;
}

const stampOf = (path: string): Stamp | null => statSync(path, { throwIfNoEntry: false }) ?? null;

/** What happened to a file since its stamp was taken. One that is gone may come back as it was. */
type Change = "none" | "written" | "replaced" | "gone";

function changeOf(before: Stamp | null, now: Stamp | null): Change {
  if (before === null) return now === null ? "none" : "written";
  if (now === null) return "gone";
  if (now.ino !== before.ino || now.dev !== before.dev) return "replaced";
  return now.size === before.size && now.mtimeMs === before.mtimeMs ? "none" : "written";
}

/** What a program other than governd did to the files, see {@link OwnFiles.foreignChange}. */
type ForeignChange = "log_written" | "replaced" | "gone" | null;

/** The connection that owns the files. */
interface Owner {
  value<V>(sql: string, parameters?: readonly string[]): V | undefined;
}

export class OwnFiles {
  #database: Stamp | null = null;
  #log: Stamp | null = null;
  /** A table of one page that every commit changes, and bytes that the page contained when the file was opened. */
  #watched: { table: string; bytes: Uint8Array } | null = null;
  /** The digest of the table's page when it was last copied back; null before that. */
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
   * Names a table that every commit changes, and that has one page, which contains `bytes` now. The page shows whether
   * another program overwrote the database.
   */
  watch(table: string, bytes: Uint8Array): void {
    this.#watched = { table, bytes };
  }

  /** Remembers the present state of both files. */
  note(): void {
    this.#database = stampOf(this.path);
    this.noteLog();
  }

  /** Remembers the present state of the log; to be called after each commit. */
  noteLog(): void {
    this.#log = stampOf(`${this.path}-wal`);
  }

  /** Records that the first `frames` frames of the log were copied back. */
  copied(frames: number): void {
    if (this.#watched !== null) this.#digest = this.log.digestOf(this.#watchedPage(), frames) ?? this.#digest;
  }

  /**
   * Returns what another program did to the files meanwhile; to be called within a transaction that may write. `null`:
   * nothing. `"log_written"`: it wrote to the write-ahead log, as a killed process of governd may have done, too; the
   * connection may be used if a new connection reads the same from the file. `"replaced"`: the files were replaced or
   * overwritten. `"gone"`: the database is not there at the moment, as while its directory is renamed.
   *
   * @param othersWrote whether `PRAGMA data_version` shows a commit of another process
   */
  foreignChange(othersWrote: boolean): ForeignChange {
    const { database, log } = this.#changes();
    if (database === "gone") return "gone";
    if (database === "replaced" || (log === "replaced" && !othersWrote)) return "replaced";
    if (database === "written" && !this.#isExplained(othersWrote)) return "replaced";
    if (database === "written" || othersWrote) this.note();
    return log === "written" && !othersWrote ? "log_written" : null;
  }

  /** Whether the database is not there at the moment. */
  isGone(): boolean {
    return this.#databaseChange() === "gone";
  }

  /** Whether the files were replaced. Writes of other processes do not count. */
  isReplaced(): boolean {
    const { database, log } = this.#changes((now) => changeOf(this.#log, now));
    return database === "replaced" || (log === "replaced" && database !== "gone");
  }

  /** Whether the log may be copied into the database: not into a file that was replaced or overwritten. */
  mayCopy(): boolean {
    const change = this.#databaseChange();
    return !this.#isDisowned && (change === "none" || (change === "written" && this.#isExplained(false)));
  }

  /** Makes closing the connection leave the files as they are. */
  disown(): void {
    this.#isDisowned = true;
  }

  get isDisowned(): boolean {
    return this.#isDisowned;
  }

  #databaseChange(): Change {
    return changeOf(this.#database, stampOf(this.path));
  }

  /**
   * Returns what happened to the files. A log without which the database is there counts as replaced. Both are renamed
   * together with their directory, so the log is looked at before the database and, if it was not there, again after it.
   */
  #changes(logChange = (now: Stamp | null) => this.#logChange(now)): { database: Change; log: Change } {
    const look = () => logChange(stampOf(`${this.path}-wal`));
    const first = look();
    const database = this.#databaseChange();
    const log = first === "gone" ? look() : first;
    return { database, log: log === "gone" ? "replaced" : log };
  }

  /** Returns what happened to the log. A log that became shorter has lost frames, so it counts as replaced. */
  #logChange(now: Stamp | null): Change {
    const change = changeOf(this.#log, now);
    return change === "written" && (now?.size ?? 0) < (this.#log?.size ?? 0) ? "replaced" : change;
  }

  /**
   * Whether the database has the page that governd copied into it: this connection, or another process from the same
   * log.
   */
  #isExplained(othersWrote: boolean): boolean {
    if (this.#watched === null) return true;
    const page = this.#watchedPage();
    const content = readPage(this.path, page, this.owner.value<number>("PRAGMA page_size") ?? 0);
    const digest = digestOfPage(content);
    if (digest === this.#digest || (this.#digest === null && content.includes(this.#watched.bytes))) return true;
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
