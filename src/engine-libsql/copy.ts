/**
 * The working copy of a database on a server: a file on the node. All reads go to it, and a group of operations runs in
 * it before the group's changes are sent. The copy has no authority. Each group is committed on the server first,
 * together with a guard that fails unless the server's database is in the state that the copy shows, and in the copy
 * only after that. So a copy may be out of date, lost or damaged at any time: nobody is told a result before the guard
 * has held.
 */

import type { Connection } from "../store/connection.ts";
import { otherGovernd } from "../store/migrate.ts";
import { ChangeCapture, type Taken } from "./capture.ts";
import { COMMITS_TABLE, type CommitState, EVERYTHING, STATE, stateOf } from "./commits.ts";
import { CopyFailed, CopyMoved, NamespaceMissing, UnknownNamespace } from "./copy-errors.ts";
import { type Namespace, type Outcome, ServerUnavailable } from "./namespace.ts";
import { otherCommits, type Reads } from "./replicas.ts";
import { changedRows, changedTables, pages, rowsBehind, rowsWith } from "./rows.ts";
import { query, type ResultRow, type Statement, StatementFailed } from "./server.ts";
import { isNoTableOfCopies, type Key, type ReplicatedTable, readTables, statementsOf } from "./tables.ts";

/** A copy keeps the number of its newest commit in the file's header (`application_id`), modulo this. */
const NUMBERS = 2 ** 31 - 1;

/** The most keys whose rows are read in one request, and the most commits. */
const KEYS_AT_ONCE = 1_000;
const COMMITS_AT_ONCE = 500;
/** A copy that lacks at least this many commits is brought up to date from a replica, if there is one. */
const FAR = 100;
/** The value of `PRAGMA synchronous` with which a commit waits for the disk. */
const FULL = 2;
/** How long the server may take for a page of rows, ms. */
const PAGE_DEADLINE_MS = 30_000;

/** The table to which rows are appended by position: the events. */
const LOG = "events";

/** What the guard of a commit depends on. */
interface CopyOptions {
  /** The version of the schema, which nodes of an older version do not write to. */
  format: number;
  /** Brings the namespace to the schema of `format` when it has an older one. */
  upgrade?(): Promise<void>;
}

export class WorkingCopy {
  readonly #capture: ChangeCapture;
  /** The number of the server's newest commit that the copy has. */
  #number = 0;
  #isStale = true;
  #logEnd = -1;

  constructor(
    private readonly connection: Connection,
    readonly namespace: Namespace,
    private readonly options: CopyOptions,
  ) {
    // A crash of the machine may lose commits of the copy, which the server has, but does not damage the file.
    connection.exec("PRAGMA synchronous = NORMAL");
    this.#capture = new ChangeCapture(connection);
  }

  /** Whether the copy may differ from the server's database, so that it must be refreshed before it is written. */
  get isStale(): boolean {
    return this.#isStale || this.namespace.isUnsettled;
  }

  /** Marks the copy as stale, so that its next use refreshes it. */
  doubt(): void {
    this.#isStale = true;
  }

  /** Whether the file shows this commit of the server; also another process may have put it there. */
  shows(number: number): boolean {
    return this.connection.value<number>("PRAGMA application_id") === number % NUMBERS;
  }

  /** The number of the newest commit that the copy has. */
  get number(): number {
    return this.#number;
  }

  /** Prepares the copy for a transaction; to be called before the transaction begins. */
  prepare(): void {
    this.#capture.watch();
    this.#logEnd = this.#capture.logEnd();
  }

  /**
   * Commits the open transaction on the server, and then in the copy. After `stale` or `unknown` the transaction is
   * still open, and must be rolled back.
   * @throws {ServerUnavailable} when nothing was written
   */
  async commit(guards: readonly Statement[]): Promise<Outcome> {
    const taken = this.#capture.take(this.#logEnd);
    if (taken.changes.size === 0) {
      this.connection.exec("COMMIT");
      return "committed";
    }
    const outcome = await this.#send(taken, guards);
    return outcome === "committed" ? this.#commitHere() : outcome;
  }

  async #send({ changes, keys, made, tables }: Taken, guards: readonly Statement[]): Promise<Outcome> {
    const number = this.#number + 1;
    const changed = [...keys].map(([name, json]) => `${JSON.stringify(name)}:${json}`);
    const definitions = made.map(({ definition }) => ({ sql: definition }));
    const row = { number, format: this.options.format, changed: `{${changed.join(",")}}`, guards };
    const outcome = await this.namespace.commit(row, [...definitions, ...statementsOf(tables, changes)]);
    if (outcome === "committed") this.#number = number;
    else this.#isStale = true;
    return outcome;
  }

  /** Commits in the copy. @throws {CopyFailed}: the server has the commit, so clients must not be told otherwise */
  #commitHere(): Outcome {
    try {
      this.#end();
      return "committed";
    } catch (error) {
      this.#isStale = true;
      throw new CopyFailed(error);
    }
  }

  #end(): void {
    this.#capture.forget();
    this.connection.exec(`PRAGMA application_id = ${this.#number % NUMBERS}`);
    this.connection.exec("COMMIT");
  }

  /**
   * Brings the copy up to date with the server; to be called when no transaction is open.
   * @throws {ServerUnavailable}; {NamespaceMissing}; {UnknownNamespace}
   */
  async refresh(): Promise<void> {
    await this.namespace.settled();
    const state = await this.#state();
    const here = this.connection.value<number>("PRAGMA application_id") as number;
    const number = here === 0 ? 0 : state.number - modulo(state.number - here, NUMBERS);
    if (number === state.number) {
      this.#number = number;
      this.#isStale = false;
      return;
    }
    this.prepare();
    await this.connection.beginWhenFree();
    try {
      // Another process may have refreshed the same file meanwhile.
      if (this.connection.value<number>("PRAGMA application_id") !== here) throw new CopyMoved();
      this.#number = await (number < state.oldest - 1 || number === 0
        ? this.#pullAll(state)
        : this.#follow(number, state));
      this.#end();
    } catch (error) {
      if (this.connection.inTransaction) this.connection.exec("ROLLBACK");
      if (error instanceof CopyMoved) return this.refresh();
      throw error;
    }
    this.#isStale = false;
  }

  /** @throws {ServerUnavailable} when the server acknowledges commits before they are on its disk */
  async requireDurable(): Promise<void> {
    const [[[synchronous] = []] = []] = await this.namespace.read([query("PRAGMA synchronous")]);
    if (typeof synchronous !== "number" || synchronous >= FULL) return;
    throw new ServerUnavailable(
      `the namespace ${this.namespace.name} loses commits in a crash: set its durability_mode to strong`,
    );
  }

  async #state(): Promise<CommitState> {
    const state = await this.namespace.state();
    if (state === null)
      throw new NamespaceMissing(`the namespace ${this.namespace.name} on the libSQL server is empty`);
    const { format, upgrade } = this.options;
    if (otherGovernd(state.format, format) !== null) {
      const unknown = new UnknownNamespace(this.namespace.name, state.format, format);
      this.namespace.warn(unknown.message);
      throw unknown;
    }
    if (state.format === format || upgrade === undefined) return state;
    await upgrade();
    return this.#state();
  }

  /** Fills the copy again with all rows. Returns the number of its newest commit. */
  async #pullAll(state: CommitState): Promise<number> {
    await this.#inBulk(state, (reads) => this.#fill(reads));
    // Commits that were made while the rows were read are only partly in the copy.
    return this.#follow(state.number, await this.#state());
  }

  /** Runs `work`, which reads many rows, on a replica that has the commit of `state`, or else on the server. */
  async #inBulk(state: CommitState, work: (reads: Reads) => Promise<void>): Promise<void> {
    const reads = await this.namespace.bulk(state);
    await work(reads);
    if (await reads.areOfServer()) return;
    this.namespace.warn(otherCommits(this.namespace.name));
    await this.#fill(this.namespace);
  }

  async #fill(reads: Reads): Promise<void> {
    const tables = await this.#matchTables();
    for (const table of tables.values()) this.connection.run(`DELETE FROM ${table.name}`);
    for (const table of tables.values()) {
      for await (const rows of pages(reads, table)) this.#apply(table, { rows, gone: [] });
    }
  }

  /** Applies the commits after commit `number`. Returns the number of the newest commit that the copy has then. */
  async #follow(number: number, state: CommitState): Promise<number> {
    let [from, to] = [number, state];
    if (to.number - from >= FAR) {
      await this.#inBulk(state, (reads) => this.#applyCommits(number, state, reads));
      from = to.number;
      to = await this.#state();
    }
    while (from < to.number) {
      const newest = await this.#applyAtOnce(from, to);
      if (newest !== null) return newest;
      await this.#applyCommits(from, to, this.namespace);
      from = to.number;
      to = await this.#state();
    }
    return from;
  }

  /**
   * Applies all commits after commit `from`, which are read in one transaction. So it ends, however fast others commit:
   * what is read in several requests is a state of the database only if nobody has committed meanwhile. Returns the
   * number of the newest commit; null when the rows are too large for one answer, or the tables are others.
   */
  async #applyAtOnce(from: number, { format }: CommitState): Promise<number | null> {
    const tables = readTables(this.connection);
    const all = [...tables.values()];
    const log = tables.get(LOG) as ReplicatedTable;
    const asked = [STATE, changedTables(from), rowsBehind(log, this.#endOf(log))];
    let answers: ResultRow[][];
    try {
      answers = await this.namespace.read(
        [...asked, ...all.map((table) => changedRows(table, from))],
        PAGE_DEADLINE_MS,
      );
    } catch (error) {
      if (error instanceof StatementFailed) return null;
      throw error;
    }
    const [state = [], names = [], appended = [], ...changed] = answers;
    const now = stateOf(state);
    const isKnown = names.every(([name]) => typeof name === "string" && tables.has(name));
    if (!isKnown || now.format !== format || from < now.oldest - 1) return null;
    for (const [at, table] of all.entries()) {
      const found = changed[at] as [Key, string | null][];
      const rows = found.flatMap(([, row]) => row ?? []);
      this.#apply(table, { rows, gone: found.filter(([, row]) => row === null).map(([key]) => key) });
    }
    this.#apply(log, { rows: appended.map(([row]) => row as string), gone: [] });
    return now.number;
  }

  /** Returns the number of the newest event in the copy; -1 when it has none. */
  #endOf(log: ReplicatedTable): number {
    return this.connection.value<number>(`SELECT max(${log.keyColumns}) FROM ${log.name}`) ?? -1;
  }

  async #applyCommits(from: number, to: CommitState, reads: Reads): Promise<void> {
    const changed = await this.#changedKeys(from, to.number);
    if (changed === null) return await this.#fill(reads);
    const tables = await this.#matchTables();
    for (const [name, keys] of changed) {
      const table = tables.get(name);
      if (table === undefined) throw new Error(`the server has changes of an unknown table ${name}`);
      await this.#applyKeys(table, [...keys], reads);
    }
    const log = tables.get(LOG) as ReplicatedTable;
    for await (const rows of pages(reads, log, this.#endOf(log))) this.#apply(log, { rows, gone: [] });
  }

  /**
   * Returns the keys of the rows that the commits `from` + 1 to `to` changed, by table; null when all may have changed.
   */
  async #changedKeys(from: number, to: number): Promise<Map<string, Set<Key>> | null> {
    const changed = new Map<string, Set<Key>>();
    const sql = `SELECT number, changed FROM ${COMMITS_TABLE} WHERE number > ? AND number <= ? ORDER BY number LIMIT ?`;
    for (let at = from; at < to; ) {
      const [rows = []] = await this.namespace.read([query(sql, at, to, COMMITS_AT_ONCE)], PAGE_DEADLINE_MS);
      for (const [number, text] of rows as [number, string][]) {
        if (number !== ++at) throw new Error("a commit is missing on the server");
        if (text === EVERYTHING) return null;
        for (const [name, keys] of Object.entries(JSON.parse(text) as Record<string, Key[]>)) {
          const known = changed.get(name) ?? new Set();
          changed.set(name, known);
          for (const key of keys) known.add(key);
        }
      }
      if (rows.length === 0) throw new Error("a commit is missing on the server");
    }
    return changed;
  }

  async #applyKeys(table: ReplicatedTable, keys: Key[], reads: Reads): Promise<void> {
    for (let from = 0; from < keys.length; from += KEYS_AT_ONCE) {
      const some = keys.slice(from, from + KEYS_AT_ONCE);
      const found = await rowsWith(reads, table, some);
      this.#apply(table, { rows: [...found.values()], gone: some.filter((key) => !found.has(key)) });
    }
  }

  #apply(table: ReplicatedTable, changes: { rows: string[]; gone: Key[] }): void {
    for (const { sql, args = [] } of statementsOf(new Map([[table.name, table]]), new Map([[table.name, changes]])))
      this.connection.run(sql, args);
  }

  /** Makes the tables that the copy lacks, as the server has them. Returns the copy's tables. */
  async #matchTables(): Promise<Map<string, ReplicatedTable>> {
    const here = readTables(this.connection);
    const sql = "SELECT name, sql FROM sqlite_schema WHERE type = 'table'";
    const [rows = []] = await this.namespace.read([query(sql)]);
    for (const [name, definition] of rows as [string, string][]) {
      if (!isNoTableOfCopies(name) && !here.has(name)) this.connection.exec(definition);
    }
    return readTables(this.connection);
  }
}

const modulo = (value: number, by: number): number => ((value % by) + by) % by;
