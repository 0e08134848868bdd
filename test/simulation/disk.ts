/**
 * The disk of a simulated thread: real files, opened by the real code. On its connections a statement fails, or the
 * machine stops, at a moment that was chosen before.
 */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { openWorkspaceFile } from "../../src/core/writer/file.ts";
import { KnownHeads } from "../../src/serve/threads/known-heads.ts";
import { releaseClosed } from "../../src/store/closing.ts";
import type { Connection } from "../../src/store/connection.ts";
import { Seeded } from "../seeded.ts";

const SECTOR_BYTES = 512;

/** Thrown by every call of a process that has stopped. */
class Stopped extends Error {
  override readonly name = "Stopped";
  readonly code = "SQLITE_IOERR_STOPPED";
}

/** An error like the driver's. */
class SqliteError extends Error {
  override readonly name = "SqliteError";

  constructor(readonly code: string) {
    super(code);
  }
}

const CODES = ["SQLITE_IOERR_WRITE", "SQLITE_IOERR_FSYNC", "SQLITE_IOERR_READ", "SQLITE_FULL", "SQLITE_BUSY"] as const;
const LASTING = ["SQLITE_IOERR_WRITE", "SQLITE_FULL", "SQLITE_READONLY"] as const;

/** What happens after this many statements or commits. */
interface Plan {
  what: "stop" | "fail";
  /** Counts every statement, or commits alone. */
  counts: "statements" | "commits";
  left: number;
}

interface Opened {
  real: Connection;
  path: string;
}

export class SimulatedDisk {
  readonly #random: Seeded;
  readonly #root: string;
  /** Called when the machine stops. */
  readonly onStop: () => void;
  /** The memory that threads share of the heads of logs. It outlives them, and is lost when the machine stops. */
  heads = new KnownHeads().memory;
  /** Each life of the process has its own directory: a connection collected late cannot touch the next one's. */
  #life = 0;
  readonly #opened = new Set<Opened>();
  #plan: Plan | null = null;
  /** The code with which every write fails; null for none. */
  #lasting: string | null = null;
  /** Synced content of write-ahead logs, by path; kept only when a stop may come soon. */
  readonly #synced = new Map<string, Buffer>();
  /** Lengths of the seal files at the last sync, by name. */
  readonly #syncedSeals = new Map<string, number>();

  constructor(root: string, random: Seeded, onStop: () => void) {
    this.#root = root;
    this.#random = random;
    this.onStop = onStop;
    mkdirSync(this.directory, { recursive: true });
  }

  /** Where the files are now. */
  get directory(): string {
    return join(this.#root, `life-${this.#life}`);
  }

  get failing(): boolean {
    return this.#lasting !== null;
  }

  plan(what: Plan["what"]): void {
    const counts = this.#random.chance(0.5) ? "commits" : "statements";
    this.#plan = {
      what,
      counts,
      left: counts === "commits" ? this.#random.between(1, 3) : this.#random.between(1, 120),
    };
  }

  fail(): void {
    this.#lasting = this.#random.pick(LASTING);
  }

  /** Nothing fails any more. */
  heal(): void {
    this.#lasting = null;
    this.#plan = null;
  }

  /** As {@link openWorkspaceFile}. */
  readonly open: typeof openWorkspaceFile = (path, key) => {
    const life = this.#life;
    if (this.#lasting !== null && this.#random.chance(0.5)) throw new SqliteError("SQLITE_CANTOPEN");
    const opened: Opened = { real: openWorkspaceFile(path, key), path };
    this.#opened.add(opened);
    // Work beside the thread is done at once, so that a run can be repeated.
    opened.real.execBeside = (sql) => Promise.try(() => opened.real.exec(sql));
    return new Proxy(opened.real, {
      get: (real, name) => {
        if (life !== this.#life && name === "inTransaction") return false;
        const member = Reflect.get(real, name, real) as unknown;
        if (typeof member !== "function") return member;
        return (...parameters: unknown[]) => {
          if (life !== this.#life) throw new Stopped();
          const call = () => (member as (...values: unknown[]) => unknown).apply(real, parameters);
          if (name === "close") this.#opened.delete(opened);
          if (name === "execBeside") {
            const sql = String(parameters[0]);
            return Promise.try(() => this.#statement(opened, sql, () => real.exec(sql)));
          }
          if (name !== "exec" && name !== "run" && name !== "get" && name !== "all") return call();
          return this.#statement(opened, String(parameters[0]), call);
        };
      },
    });
  };

  #statement(opened: Opened, sql: string, call: () => unknown): unknown {
    if (sql === "ROLLBACK") this.#synced.delete(opened.path);
    // Rollbacks and pragmas do not fail here. A transaction whose rollback fails is rolled back all the same.
    if (sql === "ROLLBACK" || sql.startsWith("PRAGMA")) return call();
    const isWrite = !sql.trimStart().startsWith("SELECT") && !sql.startsWith("WITH");
    if (this.#lasting !== null && isWrite) throw this.#failure(opened, this.#lasting);
    const plan = this.#plan;
    if (plan === null) return this.#done(opened, sql, call);
    if (plan.what === "stop" && sql === "BEGIN IMMEDIATE") this.#remember(opened.path);
    if (plan.counts === "statements" || sql === "COMMIT") plan.left--;
    if (plan.left > 0) return this.#done(opened, sql, call);
    this.#plan = null;
    if (plan.what === "fail") return this.#failOnce(opened, sql, call);
    if (sql === "COMMIT" && this.#random.chance(0.7)) call();
    this.stop();
    throw new Stopped();
  }

  #done({ path }: Opened, sql: string, call: () => unknown): unknown {
    const done = call();
    if (sql === "COMMIT") this.#synced.delete(path);
    return done;
  }

  #failOnce(opened: Opened, sql: string, call: () => unknown): never {
    const code = this.#random.pick(CODES);
    // A commit that the disk did not confirm may still be on it.
    if (sql === "COMMIT" && code === "SQLITE_IOERR_FSYNC" && this.#random.chance(0.5)) {
      call();
      throw new SqliteError(code);
    }
    throw this.#failure(opened, code);
  }

  /** Returns the error of a failed statement. SQLite rolls the transaction back by itself after some failures. */
  #failure({ real }: Opened, code: string): SqliteError {
    if (code !== "SQLITE_BUSY" && real.inTransaction && this.#random.chance(0.5)) real.exec("ROLLBACK");
    return new SqliteError(code);
  }

  #remember(path: string): void {
    const log = `${path}-wal`;
    this.#synced.set(path, existsSync(log) ? readFileSync(log) : Buffer.alloc(0));
  }

  /** Stops the machine now. What was written since the last commit may or may not be on the disk. */
  stop(): void {
    const before = this.directory;
    this.#life++;
    this.heads = new KnownHeads().memory;
    mkdirSync(this.directory);
    for (const name of readdirSync(before)) {
      if (!name.endsWith("-shm")) copyFileSync(join(before, name), join(this.directory, name));
    }
    for (const [path, synced] of this.#synced) this.#tear(path.replace(before, this.directory), synced);
    this.#tearSeals();
    this.#synced.clear();
    for (const { real } of this.#opened) {
      if (real.inTransaction) real.exec("ROLLBACK");
      real.close();
    }
    this.#opened.clear();
    if (this.#life % 8 === 0) releaseClosed();
    this.onStop();
  }

  /** Damages what was written after the last sync: each sector may be there, be missing, or hold something else. */
  #tear(path: string, synced: Buffer): void {
    const log = `${path}-wal`;
    const written = existsSync(log) ? readFileSync(log) : Buffer.alloc(0);
    if (written.length < synced.length || written.equals(synced)) return;
    const kept = this.#random.pick([0, 0.5, 0.9, 0.99, 1]);
    for (let at = 0; at < written.length; at += SECTOR_BYTES) {
      const end = Math.min(at + SECTOR_BYTES, written.length);
      const old = Buffer.alloc(end - at);
      if (at < synced.length) synced.copy(old, 0, at, Math.min(end, synced.length));
      if (old.equals(written.subarray(at, end)) || this.#random.chance(kept)) continue;
      const lost = written.subarray(at, end);
      // SQLite relies on a write leaving the neighbouring bytes unchanged (powersafe overwrite).
      const isGarbled = this.#random.chance(0.1);
      // As many choices for each sector, since salts that SQLite draws decide which bytes differ.
      const garbled = new Seeded(this.#random.below(2 ** 31));
      for (let i = 0; i < lost.length; i++)
        if (lost[i] !== old[i]) lost[i] = isGarbled ? garbled.below(256) : (old[i] as number);
    }
    // The file may also be shorter.
    const length = this.#random.chance(0.5) ? written.length : this.#random.between(synced.length, written.length);
    writeFileSync(log, written.subarray(0, length));
  }

  /** Marks what the files of seals hold now as synced: a stop cannot lose it. */
  syncSeals(): void {
    for (const name of readdirSync(this.directory))
      if (name.endsWith(".log")) this.#syncedSeals.set(name, statSync(join(this.directory, name)).size);
  }

  /** May cut off some of what was added to each file of seals since the last sync. */
  #tearSeals(): void {
    for (const name of readdirSync(this.directory)) {
      if (!name.endsWith(".log")) continue;
      const path = join(this.directory, name);
      const { size } = statSync(path);
      const synced = Math.min(size, this.#syncedSeals.get(name) ?? 0);
      if (this.#random.chance(0.5)) truncateSync(path, this.#random.between(synced, size));
    }
  }
}
