/** Creates, opens and reads workspaces on a libSQL server. */
import { existsSync } from "node:fs";
import type { Engine } from "../core/writer/engine.ts";
import { WORKSPACE_MIGRATIONS, WORKSPACE_SCHEMA } from "../core/writer/file.ts";
import { checkTail, type Head } from "../core/writer/head.ts";
import { DamagedWorkspace, MissingWorkspace } from "../core/writer/storage-failure.ts";
import type { ServerOptions } from "../settings/server-options.ts";
import type { Connection } from "../store/connection.ts";
import { checked } from "../store/connection.ts";
import type { EncryptionKey } from "../store/encryption.ts";
import { EMBEDDED, locationOf } from "../store/location.ts";
import { openMigrated } from "../store/migrate.ts";
import { removeDatabase } from "../store/remove.ts";
import type { Reader, Row } from "../store/transaction.ts";
import type { SqlValue } from "../store/values.ts";
import { ServerAdmin } from "./admin.ts";
import { WorkingCopy } from "./copy.ts";
import { NamespaceMissing } from "./copy-errors.ts";
import { MovingEngine } from "./moving-engine.ts";
import { Namespace, ServerUnavailable } from "./namespace.ts";
import { pullAsIs } from "./pull.ts";
import { FIRST_COMMIT, pushInto } from "./push.ts";
import { Replicas } from "./replicas.ts";
import { NoAnswer, query, ServerClient, ServerRefused } from "./server.ts";
import { upgrade } from "./upgrade.ts";

/** The namespace of what the nodes share beside the workspaces. */
export const NODES_NAMESPACE = "governd-nodes";

/** Returns the namespace of a workspace. It is a label of a host name, which cannot have an underscore. */
export const namespaceOf = (workspaceId: string): string => workspaceId.replace("_", "-");

/** The guard of a commit. It fails when the head differs, since the table allows no other value of `one` than 1. */
export const GUARD = "UPDATE head SET one = 2 WHERE seq <> ? OR lower(hex(hash)) <> ?";

/** A workspace that is open for writing: its working copy. */
export interface OpenedCopy {
  connection: Connection;
  engine: Engine;
}

export class ServerEngine {
  readonly #server: ServerClient;
  readonly #replicas: Replicas;
  readonly #admin: ServerAdmin | null;

  constructor(
    { url, authToken, adminUrl, adminToken, replicaUrls }: ServerOptions,
    private readonly onWarning: (warning: string) => void,
  ) {
    this.#server = new ServerClient(url, authToken);
    const replicas = replicaUrls.map((replica) => new ServerClient(replica, authToken));
    this.#replicas = new Replicas(this.#server, replicas, onWarning);
    this.#admin = adminUrl === null || adminToken === null ? null : new ServerAdmin(adminUrl, adminToken);
  }

  namespace(name: string): Namespace {
    return new Namespace(name, { server: this.#server, replicas: this.#replicas, onWarning: this.onWarning });
  }

  /** Creates a namespace unless it exists. Does nothing without an admin API. @throws {ServerUnavailable} */
  async ensureNamespace(name: string): Promise<void> {
    await this.#admin?.create(name).catch((error) => {
      throw this.#whyNot("created", name, error);
    });
  }

  /** Whether a workspace is on the server; true without an admin API, which alone can tell. @throws {ServerUnavailable} */
  async has(workspaceId: string): Promise<boolean> {
    const name = namespaceOf(workspaceId);
    const config = await this.#admin?.config(name).catch((error) => {
      throw this.#whyNot("looked up", name, error);
    });
    return config !== null;
  }

  /**
   * Deletes the namespace of a workspace that was never used. Does nothing without an admin API.
   * @throws {ServerUnavailable}
   */
  async discard(workspaceId: string): Promise<void> {
    const name = namespaceOf(workspaceId);
    await this.#admin?.delete(name).catch((error) => {
      throw this.#whyNot("deleted", name, error);
    });
  }

  /** Returns the error for a namespace that could not be created or deleted, with what the operator can do. */
  #whyNot(done: "created" | "looked up" | "deleted", name: string, error: unknown): unknown {
    if (!(error instanceof NoAnswer || error instanceof ServerRefused)) return error;
    const remedy =
      this.#admin === null ? "set engine_admin_url and engine_admin_token" : "check the server's admin API";
    return new ServerUnavailable(`the namespace ${name} cannot be ${done} (${error.message}): ${remedy}`);
  }

  /** Returns a reader of what the server has of a workspace. Each call is a request. */
  reader(workspaceId: string): Reader {
    const namespace = this.namespace(namespaceOf(workspaceId));
    const all = async <R extends Row>(sql: string, parameters: readonly SqlValue[] = []): Promise<R[]> => {
      const [rows = []] = await namespace.read([query(sql, ...parameters)]);
      return rows as Row[] as R[];
    };
    return {
      all,
      get: async <R extends Row>(sql: string, parameters?: readonly SqlValue[]) => (await all<R>(sql, parameters))[0],
      value: async <V>(sql: string, parameters?: readonly SqlValue[]) => (await all<[V]>(sql, parameters))[0]?.[0],
    };
  }

  /** Copies a workspace from the server into a new file. A token that allows only reading is enough. */
  async pull(workspaceId: string, path: string, encryptionKey: EncryptionKey | null): Promise<void> {
    const namespace = this.namespace(namespaceOf(workspaceId));
    await pullAsIs(path, { namespace, migrations: WORKSPACE_MIGRATIONS, encryptionKey });
  }

  /**
   * Copies the file of a new workspace to the server, and marks the file as a copy.
   * @throws {ServerUnavailable}
   */
  async publish(workspaceId: string, connection: Connection): Promise<void> {
    const name = namespaceOf(workspaceId);
    await this.ensureNamespace(name);
    await pushInto(this.namespace(name), connection, { format: WORKSPACE_SCHEMA }).catch((error) => {
      throw this.#whyNot("created", name, error);
    });
    connection.exec(`PRAGMA application_id = ${FIRST_COMMIT}`);
  }

  /**
   * Opens the working copy of a workspace, and brings it up to date. Makes the file when it is missing. The file of a
   * workspace that was not moved to the server yet is opened as it is.
   * @throws {ServerUnavailable}; {MissingWorkspace} when the server has no such workspace; {DamagedWorkspace}
   */
  async open(workspaceId: string, path: string, encryptionKey: EncryptionKey | null): Promise<OpenedCopy> {
    const isNew = !existsSync(path);
    const connection = openMigrated(path, WORKSPACE_MIGRATIONS, { encryptionKey });
    let made: WorkingCopy | null = null;
    // A connection has at most one working copy, since the copy's triggers note the changes of the connection.
    const copy = () => {
      const namespace = this.namespace(namespaceOf(workspaceId));
      const upgradeIt = () => upgrade({ namespace, migrations: WORKSPACE_MIGRATIONS, path, encryptionKey });
      made ??= new WorkingCopy(connection, namespace, { format: WORKSPACE_SCHEMA, upgrade: upgradeIt });
      return made;
    };
    const engine = new MovingEngine(connection, () => engineOf(copy()));
    try {
      if (isOfCopy(connection)) {
        await copy().refresh();
        await copy().requireDurable();
      }
      checked(connection, (opened) => {
        if (checkTail(opened) !== workspaceId) throw new DamagedWorkspace("the namespace holds another workspace");
      });
    } catch (error) {
      connection.close();
      if (isNew) removeDatabase(path);
      throw error instanceof NamespaceMissing ? new MissingWorkspace(error.message) : error;
    }
    return { connection, engine };
  }
}

/**
 * Reports whether a file is a copy, or is empty and will become one.
 */
const isOfCopy = (connection: Connection): boolean =>
  locationOf(connection) > EMBEDDED || connection.value("SELECT 1 FROM head") === undefined;

/** Returns the engine of a workspace on a server. */
function engineOf(copy: WorkingCopy): Engine {
  let isDoubted = false;
  return {
    async begin() {
      const { isStale, number } = copy;
      if (isStale || isDoubted) await copy.refresh();
      isDoubted = false;
      copy.prepare();
      return isStale || copy.number !== number;
    },
    doubt() {
      isDoubted = true;
    },
    commit: ({ seq, hash }: Head) => copy.commit([{ sql: GUARD, args: [seq, hash] }]),
  };
}
