/**
 * The installation as a process has it open: its log's file, which says which workspaces there are, and has accounts and
 * sessions; the signals between the processes on one data directory; and, on a libSQL server, what its nodes share. Only the
 * thread of the installation's workspace, or a command, writes to the file.
 */
import { existsSync } from "node:fs";
import { type DataDirectory, presentWorkspaces, workspaceFile } from "../../core/datadir/layout.ts";
import { type Pointer, readPointer, writePointer } from "../../core/datadir/pointer.ts";
import { sealKeySource } from "../../core/datadir/seal-key.ts";
import { NO_HEADS } from "../../core/heads/tree.ts";
import { WORKSPACE_SCHEMA } from "../../core/writer/file.ts";
import { Coordination } from "../../engine-libsql/nodes/coordination.ts";
import { ServerEngine } from "../../engine-libsql/server-engine.ts";
import { Failure } from "../../failure.ts";
import type { IdSource } from "../../ids.ts";
import { identityOf } from "../../store/checkpoint.ts";
import { type Connection, checked } from "../../store/connection.ts";
import { isDamage } from "../../store/damage.ts";
import { EncryptionMismatch } from "../../store/encryption.ts";
import { EMBEDDED, locationOf } from "../../store/location.ts";
import { schemaVersion, UnknownSchema } from "../../store/migrate.ts";
import { AloneLock } from "./alone-lock.ts";
import { Generation } from "./generation.ts";
import { headsEvent } from "./heads-event.ts";
import { migrationFailure, openLog, type WorkspaceJournal, withWriter } from "./journal.ts";
import { isUnfinished } from "./unfinished.ts";
import { INSTALLATION_CREATOR, INSTALLATION_NAME } from "./workspaces.ts";

export class Installation implements Disposable {
  #connection: Connection | null = null;
  /** The identity of the file that is open. */
  #identity: string | null = null;
  #isReported = false;
  readonly #alone: AloneLock;

  private constructor(
    private readonly directory: DataDirectory,
    private pointer: Pointer | null,
    /** Counts up with every change of rows that another process may have cached. */
    readonly generation: Generation,
    /** What the nodes on a libSQL server share; null with the embedded engine. */
    readonly nodes: Coordination | null,
  ) {
    this.#alone = new AloneLock(directory.workspacesLock, nodes);
  }

  /**
   * Opens the installation of a data directory, which may have none yet.
   * @throws {Failure} `data_directory_unusable` when the directory has lost it; `invalid_settings` for copies of what is on a
   *   server, since writes to them would be lost; {ServerUnavailable}
   */
  static async open(directory: DataDirectory, onWarning: (warning: string) => void = () => {}): Promise<Installation> {
    const generation = Generation.open(directory.generation);
    if (directory.server === null) {
      const pointer = readPointer(directory) ?? beforeFirstStart(directory);
      if (pointer?.engine === "libsql-server") throw new Failure("invalid_settings", COPY);
      return new Installation(directory, pointer, generation, null);
    }
    const pointer = readPointer(directory);
    const nodes = await Coordination.open(new ServerEngine(directory.server, onWarning));
    try {
      return new Installation(directory, await nodes.join(directory, pointer), generation, nodes);
    } catch (error) {
      nodes[Symbol.dispose]();
      throw error;
    }
  }

  /** The id of its log; undefined before a start or a command has made it. */
  get madeId(): string | undefined {
    return this.pointer?.installation_id;
  }

  /** The id of its log, which a start makes when there is none. */
  get id(): string {
    const { madeId } = this;
    if (madeId === undefined) throw new Error("the log of the installation is not made yet");
    return madeId;
  }

  /**
   * Reads what is committed.
   * @throws {Failure} `data_directory_unusable` when its file is missing; the driver's error when it cannot be read
   */
  get connection(): Connection {
    if (this.#connection !== null) return this.#connection;
    this.#identity = identityOf(workspaceFile(this.directory, this.id));
    this.#connection = openInstallationFile(this.directory, this.id);
    return this.#connection;
  }

  /**
   * Says that the thread of a workspace has opened its file, which may be another one that continues its log. Another file
   * in the place of this one is not read before.
   */
  reopened(workspaceId: string): void {
    if (workspaceId === this.madeId && this.isReplaced) this.#close();
  }

  /** Whether the file was removed, or another one is in its place than the one that is open. */
  get isReplaced(): boolean {
    if (this.madeId === undefined) return false;
    const found = identityOf(workspaceFile(this.directory, this.madeId));
    return found === null || (this.#connection !== null && found !== this.#identity);
  }

  /** Returns the failure to log when the file was replaced, once for each replacement; otherwise null. */
  takeReplacement(): Failure | null {
    const isNew = this.isReplaced && !this.#isReported;
    this.#isReported = this.isReplaced;
    return isNew ? new Failure("busy", REPLACED) : null;
  }

  /** A number that changes when somebody else commits to the file; null while it is not open. */
  get dataVersion(): number | null {
    return this.#connection?.value<number>("PRAGMA data_version") ?? null;
  }

  /**
   * Tells other processes, and other nodes, that rows have changed which they may have cached; to be called after the
   * commit. @throws {ServerUnavailable}
   */
  async changed(): Promise<void> {
    this.generation.advance();
    await this.nodes?.changed();
  }

  /** Follows what other nodes have changed. @throws {ServerUnavailable} */
  async refresh(): Promise<void> {
    if (await this.nodes?.refresh()) this.generation.advance();
  }

  /**
   * Runs `work` while no other work passed to this function runs, in any process on the data directory, and on any node.
   * @throws {Failure} `busy` when others take too long
   */
  alone<T>(work: () => Promise<T>): Promise<T> {
    return this.#alone.run(work);
  }

  /** Makes its log if there is none. */
  async ensure({ journal, ids }: { journal: WorkspaceJournal; ids: IdSource }): Promise<string> {
    if (this.madeId !== undefined) return this.madeId;
    return await this.alone(async () => {
      this.pointer = (await this.nodes?.join(this.directory, null)) ?? readPointer(this.directory);
      if (this.madeId !== undefined) return this.madeId;
      const id = ids.next("ws");
      const event = { ...headsEvent({ grown: [], gone: [] }), details: { ...NO_HEADS } };
      await journal.create({ id, name: INSTALLATION_NAME, actor: INSTALLATION_CREATOR }, event);
      this.pointer = (await this.nodes?.name(this.directory, id)) ?? { installation_id: id, engine: "embedded" };
      if (this.nodes === null) writePointer(this.directory, this.pointer);
      // If this process stopped for longer than its turn lasts, another node may have made one.
      if (this.id !== id) await journal.discard(id);
      return this.id;
    });
  }

  /**
   * Calls `work` with its file; with what is on the libSQL server, if workspaces are there. Returns `none` when there is no
   * installation yet.
   * @throws {Failure} `data_directory_unusable` when its file is missing
   */
  async read<T>(work: (connection: Connection) => T | Promise<T>, none: T): Promise<T> {
    const { directory, madeId: id } = this;
    if (id === undefined) return none;
    if (directory.server === null || isHome(directory, id)) return await work(this.connection);
    const key = sealKeySource(directory, null);
    return await withWriter(directory, key, id, async (_, connection) => work(connection));
  }

  #close(): void {
    this.#connection?.close();
    this.#connection = null;
  }

  [Symbol.dispose](): void {
    this.#close();
    this.nodes?.[Symbol.dispose]();
  }
}

const COPY =
  'The data directory is a copy of what is on a libSQL server. Set engine = "libsql-server" and engine_url, or bring everything back with `governd migrate --to embedded`.';

const REPLACED =
  "The file of the installation was removed or replaced while governd runs, so nobody can sign in, and workspaces cannot be made or deleted. Nothing was changed. Put the file back by renaming it, or restart the daemon with the new one.";

/**
 * Refuses to make another installation beside workspaces, since it would not know them, and would let anybody sign up. Returns
 * the pointer if another process has just written it: that comes before the first workspace.
 */
function beforeFirstStart(directory: DataDirectory): Pointer | null {
  const isFresh = presentWorkspaces(directory).every((id) => isUnfinished(directory, id));
  const pointer = readPointer(directory);
  if (isFresh || pointer !== null) return pointer;
  throw missingPointer(directory);
}

/** The failure of a data directory that has lost its pointer. */
export const missingPointer = ({ pointer }: DataDirectory): Failure =>
  new Failure(
    "data_directory_unusable",
    `${pointer} is missing, although there are workspaces. Restore it from a backup. Nothing was changed.`,
  );

/**
 * Opens the file of the installation for reading.
 * @throws {Failure} `data_directory_unusable` when it is missing, damaged or older than 0.1.0; `newer_database`
 */
export function openInstallationFile(directory: DataDirectory, id: string): Connection {
  const path = workspaceFile(directory, id);
  const unusable = (what: string, cause?: unknown) =>
    new Failure(
      "data_directory_unusable",
      `The file of the installation ${path} is ${what}: restore it from a backup.`,
      { cause },
    );
  if (!existsSync(path)) throw unusable("missing");
  try {
    return checked(openLog(directory, id), (connection) => {
      const schema = schemaVersion(connection);
      if (schema > WORKSPACE_SCHEMA) throw new UnknownSchema(schema, WORKSPACE_SCHEMA);
    });
  } catch (error) {
    if (error instanceof EncryptionMismatch || !isDamage(error)) throw migrationFailure(path, error);
    throw unusable("damaged", error);
  }
}

/** Whether a file is not yet a copy of what is on a server. */
function isHome(directory: DataDirectory, id: string): boolean {
  if (!existsSync(workspaceFile(directory, id))) return false;
  using connection = openLog(directory, id);
  return locationOf(connection) === EMBEDDED;
}
