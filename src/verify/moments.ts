/**
 * Recognizes a database and its write-ahead log that were copied at different moments: one after the other, while a
 * daemon copied the log into the database and restarted it. Some pages of such a copy are newer than others, and their
 * content does not agree, although nobody tampered with it.
 *
 * Only problems that say that rows do not agree are excused (docs/audit-format.md, "Copies of different moments"). Such
 * a copy establishes nothing.
 */
import {
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readSync,
  realpathSync,
  rmSync,
  statSync,
  truncateSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { releaseClosed } from "../store/closing.ts";
import { type OpenOptions, openConnection } from "../store/connection.ts";
import { isDriverError } from "../store/damage.ts";
import { withFile } from "../store/sync.ts";
import { OBSTACLES, type ProblemCode } from "./codes.ts";
import type { Obstacle, SourceResult } from "./report.ts";
import type { ReportedProblem } from "./report-schema.ts";
import { NO_NUMBER } from "./rows/numbers.ts";
import { checkFile, NOT_ITS_ROWS } from "./rows/schema.ts";
import { type DatabaseRequest, verifyDatabaseFile } from "./sources.ts";

/**
 * The problems that pages of different moments can cause. An event or a seal that is wrong by itself is not among them.
 */
const OF_SEVERAL_ROWS: ReadonlySet<string> = new Set<ProblemCode>([
  ...(["seq_gap", "agent_seq_gap", "head_mismatch", "seal_beyond_log", "details_missing", "details_restored"] as const),
  ...(["row_mismatch", "schema_mismatch", "content_orphan", "content_mismatch", "content_unprovable"] as const),
  ...(["content_stale", "content_changed", "content_missing"] as const),
  ...(["row_added", "row_missing", "row_changed", "operation_impossible"] as const),
]);

/** A database and its log, in a private directory of this process. */
type Copy = Pick<DatabaseRequest, "path" | "encryptionKey">;

const isOfSeveralRows = ({ code, message }: ReportedProblem): boolean =>
  OF_SEVERAL_ROWS.has(code) && !message.endsWith(NO_NUMBER);

/** Returns the obstacle for a copy whose problems can be explained by different moments; null for any other. */
export async function whyMixed(copy: Copy, { report, verdict }: SourceResult): Promise<Obstacle | null> {
  if (verdict !== "tampered" || !report.problems.every(isOfSeveralRows)) return null;
  const ends = commitEnds(`${copy.path}-wal`);
  if (ends === null) return null;
  using states = new States(copy, ends);
  if (!(await states.areMixed(report.problems))) return null;
  const message =
    "the copy was made while a daemon wrote to it, and the database and its log (-wal) are of different moments: copy the .db before its -wal, and both again if the first 32 bytes of the -wal changed meanwhile, or use governd backup";
  return { code: "copied_while_written", message };
}

/**
 * Returns the obstacle for a log that ends before seals in its seal file, or before its recorded head: these may have been copied after the
 * database, while a daemon wrote, or the log may have been truncated. Null when anything else contradicts the log, such
 * as a seal of the auditor, and when no daemon had the database open, which would leave a log (-wal) beside it.
 *
 * @param file the verified file
 */
export async function whyShort(
  file: Parameters<typeof verifyDatabaseFile>[0],
  request: DatabaseRequest,
  { report, verdict }: SourceResult,
): Promise<Obstacle | null> {
  const found = report.problems.filter(({ code }) => !(code in OBSTACLES));
  if (
    verdict !== "tampered" ||
    !found.every((one) => isOfLaterSeals(one) || isBehind(one)) ||
    !existsSync(`${realpathSync(request.path)}-wal`)
  )
    return null;
  const { head: _, ...own } = request;
  const alone = await verifyDatabaseFile(file, { ...own, sealFile: null });
  if (alone.verdict === "tampered") return null;
  const message =
    "its file of seals, or its recorded head, covers more events than the log has: either they were copied after the database, while a daemon wrote to it, or the log's end was cut off: copy the log of the installation first, then the seals, then the databases, or use governd backup";
  return { code: "copied_while_written", message };
}

const END = `SELECT coalesce((SELECT seq FROM events NOT INDEXED WHERE hash = head.hash LIMIT 1), seq) FROM head`;

const WAL_HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
const LEAST_PAGE_BYTES = 512;
/**
 * The size from which removed copies are released at once, bytes. Releasing takes longer than checking a small copy.
 */
const UNRELEASED_BYTES = 16 * 1024 ** 2;

/** The beginning of a log, without the last bit. */
const WAL_MAGIC = 0x377f0682;

/**
 * Returns where the transactions of a log end, in bytes: https://www.sqlite.org/fileformat2.html#the_write_ahead_log
 * Null when the file is not a log. A log that was restarted while it was copied may have no transactions.
 */
function commitEnds(log: string): number[] | null {
  return withFile(log, "r", (file) => {
    const header = Buffer.alloc(WAL_HEADER_BYTES);
    const frame = Buffer.alloc(FRAME_HEADER_BYTES);
    const ends: number[] = [];
    const read = readSync(file, header, 0, WAL_HEADER_BYTES, 0);
    const size = FRAME_HEADER_BYTES + header.readUInt32BE(8);
    const isLog = read === WAL_HEADER_BYTES && (header.readUInt32BE(0) & ~1) === WAL_MAGIC;
    if (!isLog || size < LEAST_PAGE_BYTES) return null;
    for (
      let at = WAL_HEADER_BYTES;
      readSync(file, frame, 0, FRAME_HEADER_BYTES, at) === FRAME_HEADER_BYTES;
      at += size
    ) {
      if (!frame.subarray(8, 16).equals(header.subarray(16, 24))) break;
      if (frame.readUInt32BE(4) > 0) ends.push(at + size);
    }
    return ends;
  });
}

const isBehind = ({ code, seq }: ReportedProblem): boolean => code === "workspace_behind_head" && seq === null;

const isOfLaterSeals = ({ code }: ReportedProblem): boolean => code === "seal_beyond_log";

/** Whether a seal of another moment can cause the problem, since a seal is stored without an event. */
const isOfLateSeal = (problem: ReportedProblem): boolean =>
  isOfLaterSeals(problem) ||
  (problem.code === "schema_mismatch" && problem.table === "seals" && problem.message.includes(NOT_ITS_ROWS));

/** Whether a problem is about stored seals or tiles, or their indexes, since a seal is stored without an event. */
const isOfSeals = (problem: ReportedProblem): boolean => {
  if (isOfLaterSeals(problem)) return true;
  const isOfRows = problem.code !== "schema_mismatch" || problem.message.includes(NOT_ITS_ROWS);
  return isOfRows && (problem.table === "seals" || problem.table === "tiles");
};

/** The states of a database after each transaction of its log; state 0 is the database without the log. */
class States implements Disposable {
  readonly #directory: string;

  constructor(
    private readonly copy: Copy,
    private readonly ends: readonly number[],
  ) {
    this.#directory = mkdtempSync(join(dirname(copy.path), "state-"));
  }

  /** Reports whether the copy is of different moments. @param found the problems of the last state */
  async areMixed(found: readonly ReportedProblem[]): Promise<boolean> {
    const { length: last } = this.ends;
    const [alone, now] = [this.#head(0), this.#head(last)];
    if (now === null) return false;
    if (alone === null) return true;
    if (alone > now) return this.#agree(0, last);
    // This check alone recognizes most tampering: no transaction of the log recorded an event.
    if (alone === now && !(found.every(isOfLateSeal) && this.#schema(0) === this.#schema(last))) {
      return !(await this.#isOfOneMoment());
    }
    const first = alone === now ? last : this.#firstAfter(alone);
    const before = await this.#problems(alone === now ? 0 : first - 1);
    if (!before?.every(isOfSeals)) return !(await this.#isOfOneMoment());
    const after = await this.#problems(first);
    return after === null || after.length > 0;
  }

  /** Returns the first state whose audit log ends after `seq`. */
  #firstAfter(seq: number): number {
    let [low, high] = [0, this.ends.length];
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if ((this.#head(middle) ?? seq) > seq) high = middle;
      else low = middle;
    }
    return high;
  }

  /** Whether the database without the log has the last event that it should have, and each index matches its table. */
  async #isOfOneMoment(): Promise<boolean> {
    try {
      using connection = openConnection(this.#file(0), this.#optionsOf(0));
      const { problems, damage } = await checkFile(connection);
      const last = connection.value<number>("SELECT max(seq) FROM events NOT INDEXED");
      return damage === null && problems.length === 0 && last === connection.value("SELECT seq FROM head");
    } catch (error) {
      if (isDriverError(error)) return false;
      throw error;
    }
  }

  /** Returns the problems of a state; null when it cannot be read. */
  async #problems(state: number): Promise<ReportedProblem[] | null> {
    const { encryptionKey = null } = this.copy;
    const path = this.#file(state);
    const { report, verdict } = await verifyDatabaseFile({ path, immutable: state === 0 }, { path, encryptionKey });
    return verdict === "undetermined" ? null : report.problems;
  }

  /** Whether two states have no different events at the same position. */
  #agree(one: number, other: number): boolean {
    const hashes = new Map(this.#events(one));
    return this.#events(other).every(([seq, hash]) => (hashes.get(seq) ?? hash) === hash);
  }

  #events(state: number): [number, string][] {
    using connection = openConnection(this.#file(state), this.#optionsOf(state));
    return connection.all("SELECT seq, hex(hash) FROM events NOT INDEXED");
  }

  /** Returns the last event of a state, by the hash in its head if there is one; null when it cannot be read. */
  #head(state: number): number | null {
    try {
      using connection = openConnection(this.#file(state), this.#optionsOf(state));
      return connection.value<number | null>(END) ?? null;
    } catch (error) {
      if (isDriverError(error)) return null;
      throw error;
    }
  }

  /** Returns a number that changes with the schema. */
  #schema(state: number): number | undefined {
    using connection = openConnection(this.#file(state), this.#optionsOf(state));
    return connection.value<number>("PRAGMA schema_version");
  }

  #optionsOf(state: number): OpenOptions {
    const { encryptionKey = null } = this.copy;
    return { ...(state === 0 ? { immutable: true } : { readOnly: true }), anySchema: true, encryptionKey };
  }

  /** Makes the file of a state. It is a copy, since SQLite would treat two names of one file as the same database. */
  #file(state: number): string {
    rmSync(this.#directory, { recursive: true, force: true });
    // Removed files stay open, and use space, until garbage is collected.
    if (statSync(this.copy.path).size > UNRELEASED_BYTES) releaseClosed();
    mkdirSync(this.#directory);
    const path = join(mkdtempSync(join(this.#directory, "s-")), "evidence.db");
    copyFileSync(this.copy.path, path, constants.COPYFILE_FICLONE);
    const end = this.ends[state - 1];
    if (end === undefined) return path;
    copyFileSync(`${this.copy.path}-wal`, `${path}-wal`);
    truncateSync(`${path}-wal`, end);
    return path;
  }

  [Symbol.dispose](): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }
}
