/**
 * Moves a database from a data directory to a namespace of a libSQL server, while others write to the database. A
 * snapshot is sent first, and then the difference between each snapshot and the next. Writers wait only for the last
 * and smallest difference. It is the namespace's first commit: until then every node finds the namespace empty.
 *
 * A journal records the progress. Rows are put and deleted by their keys, so the last request may be sent again, and
 * both snapshots of a difference are kept until the server has answered for all of it. So the process may be killed at
 * any moment, and the next one continues.
 */

import { Failure } from "../../failure.ts";
import { openConnection } from "../../store/connection.ts";
import type { EncryptionKey } from "../../store/encryption.ts";
import { EMBEDDED, locationOf, MOVING } from "../../store/location.ts";
import { NEVER } from "../../store/log-right.ts";
import { CREATE_COMMITS } from "../commits.ts";
import type { Namespace } from "../namespace.ts";
import { FIRST_COMMIT } from "../push.ts";
import type { Statement } from "../server.ts";
import { query } from "../server.ts";
import { type ReplicatedTable, statementsOf, type TableChanges } from "../tables.ts";
import { Snapshot } from "./differences.ts";
import { Journal, type Progress } from "./journal.ts";

/** A difference of at most this many rows is sent while writers wait. */
const FEW_ROWS = 2_000;
/**
 * The most differences that are sent while writers continue. Writers that are faster than the sending wait for more
 * rows.
 */
const MOST_ROUNDS = 8;

/** Most text of parameters in one request, UTF-16 units, unless a single statement has more. */
const MOST_IN_REQUEST = 4 * 1024 * 1024;
/** How long to wait for the server, ms. After that the command fails; when it is run again, it continues. */
const REQUEST_DEADLINE_MS = 60_000;

type Tables = ReadonlyMap<string, ReplicatedTable>;

interface MoveToServerParts {
  /** The file of the database. */
  database: string;
  encryptionKey: EncryptionKey | null;
  namespace: Namespace;
  /** The version of the schema. */
  format: number;
  /** The folder of the journal and the snapshots. */
  folder: string;
  onProgress(rows: number, total: number): void | Promise<void>;
}

export class MoveToServer {
  readonly #journal: Journal;
  #sent = 0;

  constructor(private readonly parts: MoveToServerParts) {
    const { folder, namespace, encryptionKey } = parts;
    this.#journal = new Journal(folder, namespace.name, encryptionKey);
  }

  /**
   * Sends everything, then turns the file into a copy of the server's database. Returns how long writers waited, ms;
   * null when the file is a copy already.
   * @throws {Failure} `engine_unavailable`; `busy` when the namespace is in use already
   */
  async run(): Promise<number | null> {
    const place = this.#placeOfFile();
    if (place > 0) {
      this.#journal.end();
      return null;
    }
    let progress = await this.#begin(place === MOVING);
    if (place === EMBEDDED) progress = await this.#send(progress);
    const begun = performance.now();
    await this.#stopWriters();
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
    return locationOf(connection);
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

  /** Drops the tables that an abandoned move left in the namespace. */
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

  /** Sends the changes since the snapshot `base`, while writers continue. Returns the number of rows. */
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

  /** Makes the tables that the server lacks, without their indexes: rows are read from the server by their keys. */
  async #makeTables(tables: Tables): Promise<void> {
    const made = [...tables.values()].map(({ definition }) => ({
      sql: definition.replace(/^CREATE TABLE (IF NOT EXISTS )?/i, "CREATE TABLE IF NOT EXISTS "),
    }));
    await this.#write(made);
  }

  /** Applies changes to the server's rows, in several requests (and so not in one transaction) if there are many. */
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

  /** Marks the file as leaving, after which nobody writes to it. */
  async #stopWriters(): Promise<void> {
    const { database, encryptionKey } = this.parts;
    using lock = openConnection(database, { encryptionKey, takeLogRight: NEVER });
    await lock.beginWhenFree();
    lock.exec(`PRAGMA application_id = ${MOVING}`);
    lock.exec("COMMIT");
  }

  /** Sends the last difference as the namespace's first commit, then marks the file as a copy of the namespace. */
  async #finish({ base }: Progress): Promise<void> {
    const { database, encryptionKey, format } = this.parts;
    using last = new Snapshot(database, encryptionKey);
    const changes = last.since(this.#journal.snapshot(base));
    const commit = { number: FIRST_COMMIT, format, changed: "{}", guards: [{ sql: CREATE_COMMITS }] };
    const outcome = await this.parts.namespace.commit(commit, statementsOf(last.tables, changes));
    if (outcome === "unknown") await this.parts.namespace.settled();
    // `stale`: a process that was killed at this point had sent the same commit. Writers have stopped, so nothing else
    // can have been sent since.
    using file = openConnection(database, { encryptionKey, takeLogRight: NEVER });
    file.exec(`PRAGMA application_id = ${FIRST_COMMIT}`);
    this.#journal.end();
  }
}
