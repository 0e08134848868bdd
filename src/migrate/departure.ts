/**
 * Moves a database from a data directory to a namespace of a libSQL server, while it is written. A snapshot is sent first,
 * then what changed since, again and again, from one snapshot to the next. Writers wait only for the last and smallest
 * difference, which is the namespace's first commit: until then no node finds anything there.
 *
 * A journal says how far that is. Rows are put and deleted by their keys, so whatever was sent last may be sent again; and
 * a difference is always between two snapshots that are kept until all of it was answered. So the process may be killed at
 * any moment, and the next one goes on.
 */

import { CREATE_COMMITS } from "../engine/commits.ts";
import type { Statement } from "../engine/hrana.ts";
import { query } from "../engine/hrana.ts";
import type { Namespace } from "../engine/namespace.ts";
import { FIRST_COMMIT } from "../engine/push.ts";
import { type ReplicatedTable, statementsOf, type TableChanges } from "../engine/tables.ts";
import { Failure } from "../failure.ts";
import { openConnection } from "../store/connection.ts";
import type { EncryptionKey } from "../store/encryption.ts";
import { NEVER } from "../store/log-right.ts";
import { AT_HOME, LEAVING, placeOf } from "../store/place.ts";
import { Snapshot } from "./differences.ts";
import { Journal, type Progress } from "./journal.ts";

/** A difference of so few rows is sent while writers wait. */
const FEW_ROWS = 2_000;
/** So often a difference is sent while writers go on; if they write faster than it is sent, they wait for more. */
const MOST_ROUNDS = 8;

/** Most text of parameters in one request, UTF-16 units, unless a single statement has more. */
const MOST_IN_REQUEST = 4 * 1024 * 1024;
/** How long the server may be away, ms. The command can be run again, and goes on. */
const REQUEST_DEADLINE_MS = 60_000;

type Tables = ReadonlyMap<string, ReplicatedTable>;

interface DepartureParts {
  /** The file of the database. */
  database: string;
  encryptionKey: EncryptionKey | null;
  namespace: Namespace;
  /** The version of the schema. */
  format: number;
  /** Where the journal and the snapshots are. */
  folder: string;
  onProgress(rows: number, total: number): void | Promise<void>;
}

export class Departure {
  readonly #journal: Journal;
  #sent = 0;

  constructor(private readonly parts: DepartureParts) {
    const { folder, namespace, encryptionKey } = parts;
    this.#journal = new Journal(folder, namespace.name, encryptionKey);
  }

  /**
   * Sends everything, and then has the file be a copy of what the server has. Returns how long writers
   * waited, ms; null when it is one already.
   * @throws {Failure} `engine_unavailable`; `busy` when the namespace is in use already
   */
  async run(): Promise<number | null> {
    const place = this.#placeOfFile();
    if (place > 0) {
      this.#journal.end();
      return null;
    }
    let progress = await this.#begin(place === LEAVING);
    if (place === AT_HOME) progress = await this.#send(progress);
    const begun = performance.now();
    this.#stopWriters();
    await this.#finish(progress);
    return performance.now() - begun;
  }

  /** Sends everything but the last difference. */
  async #send(begun: Progress): Promise<Progress> {
    let progress = await this.#fill(begun);
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const rows = await this.#catchUp(progress);
      progress = { ...progress, base: progress.base + 1 };
      if (rows <= FEW_ROWS) break;
    }
    return progress;
  }

  #placeOfFile(): number {
    const { database, encryptionKey } = this.parts;
    using connection = openConnection(database, { readOnly: true, encryptionKey });
    return placeOf(connection);
  }

  async #begin(isLeaving: boolean): Promise<Progress> {
    const { namespace } = this.parts;
    const known = this.#journal.read();
    const state = await this.parts.namespace.state();
    if (known?.url === namespace.url && (state === null || isLeaving)) return known;
    if (state !== null) {
      const advice =
        "Its rows would be mixed with those of another database. Name another server, or delete the namespace.";
      throw new Failure("busy", `The namespace ${namespace.name} is in use on the server. ${advice}`);
    }
    this.#journal.end();
    await this.#empty();
    this.#journal.take(0, this.parts.database);
    const progress: Progress = { url: namespace.url, base: 0, place: "start" };
    this.#journal.write(progress);
    return progress;
  }

  /** Takes out what a move that was given up left. */
  async #empty(): Promise<void> {
    const [tables = []] = await this.parts.namespace.read([
      query("SELECT name FROM sqlite_schema WHERE type = 'table'"),
    ]);
    await this.#write(tables.map(([name]) => ({ sql: `DROP TABLE ${name}` })));
  }

  async #fill(progress: Progress): Promise<Progress> {
    if (progress.place === null) return progress;
    using snapshot = new Snapshot(this.#journal.snapshot(progress.base), this.parts.encryptionKey);
    const total = snapshot.rows();
    await this.#makeTables(snapshot.tables);
    const after = progress.place === "start" ? null : progress.place;
    for (const { table, rows, last } of snapshot.pieces(after)) {
      await this.#apply(snapshot.tables, new Map([[table, { rows, gone: [] }]]));
      this.#journal.write({ ...progress, place: { table, last } });
      this.#sent += rows.length;
      await this.parts.onProgress(this.#sent, total);
    }
    const filled = { ...progress, place: null };
    this.#journal.write(filled);
    return filled;
  }

  /** Sends what changed since the base, while writers go on. Returns the number of rows. */
  async #catchUp({ base, ...progress }: Progress): Promise<number> {
    this.#journal.take(base + 1, this.parts.database);
    using next = new Snapshot(this.#journal.snapshot(base + 1), this.parts.encryptionKey);
    const changes = next.since(this.#journal.snapshot(base));
    let rows = 0;
    for (const { rows: put, gone } of changes.values()) rows += put.length + gone.length;
    await this.#makeTables(next.tables);
    await this.#apply(next.tables, changes);
    this.#journal.write({ ...progress, base: base + 1 });
    this.#journal.drop(base);
    this.#sent += rows;
    return rows;
  }

  /** Makes the tables, without their indexes: the server is asked for rows by their keys. */
  async #makeTables(tables: Tables): Promise<void> {
    const made = [...tables.values()].map(({ definition }) => ({
      sql: definition.replace(/^CREATE TABLE (IF NOT EXISTS )?/i, "CREATE TABLE IF NOT EXISTS "),
    }));
    await this.#write(made);
  }

  /** Makes rows what they have become. Of many changes, some are there before the others. */
  async #apply(tables: Tables, changes: ReadonlyMap<string, TableChanges>): Promise<void> {
    let group: Statement[] = [];
    let length = 0;
    for (const statement of statementsOf(tables, changes)) {
      const size = String(statement.args?.[0]).length;
      if (group.length > 0 && length + size > MOST_IN_REQUEST) {
        await this.#write(group);
        [group, length] = [[], 0];
      }
      group.push(statement);
      length += size;
    }
    await this.#write(group);
  }

  async #write(statements: readonly Statement[]): Promise<void> {
    if (statements.length > 0) await this.parts.namespace.write(statements, REQUEST_DEADLINE_MS);
  }

  /** From now on nobody writes to the file: it says that it is leaving. */
  #stopWriters(): void {
    const { database, encryptionKey } = this.parts;
    using lock = openConnection(database, { encryptionKey, takeLogRight: NEVER });
    lock.exec("BEGIN IMMEDIATE");
    lock.exec(`PRAGMA application_id = ${LEAVING}`);
    lock.exec("COMMIT");
  }

  /** Sends the last difference as the namespace's first commit, after which the file is a copy of it. */
  async #finish({ base }: Progress): Promise<void> {
    const { database, encryptionKey, format } = this.parts;
    using last = new Snapshot(database, encryptionKey);
    const changes = last.since(this.#journal.snapshot(base));
    const commit = { number: FIRST_COMMIT, format, changed: "{}", guards: [{ sql: CREATE_COMMITS }] };
    const outcome = await this.parts.namespace.commit(commit, statementsOf(last.tables, changes));
    if (outcome === "unknown") await this.parts.namespace.settled();
    // `stale`: a process that was killed here had sent the same. Nothing else was sent since the writers stopped.
    using file = openConnection(database, { encryptionKey, takeLogRight: NEVER });
    file.exec(`PRAGMA application_id = ${FIRST_COMMIT}`);
    this.#journal.end();
  }
}
