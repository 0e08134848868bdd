/**
 * What all nodes on a libSQL server share beside the workspaces, in a namespace of its own: leases, the keys that encrypt
 * secrets, the id of the installation, and a number that rises with every change of keys, members, accounts and sinks, so
 * that a node forgets within a second what it has cached of them.
 */
import type { DataDirectory } from "../../core/datadir/layout.ts";
import { type Pointer, writePointer } from "../../core/datadir/pointer.ts";
import type { SealKey } from "../../core/datadir/seal-key.ts";
import { Failure } from "../../failure.ts";
import { CREATE_LEASES, Leases } from "../leases.ts";
import type { Namespace } from "../namespace.ts";
import { query } from "../server.ts";
import { NODES_NAMESPACE, type ServerEngine } from "../server-engine.ts";
import { shareKeys } from "./shared-keys.ts";

/** How long a node may use what it has cached, ms. */
export const CACHE_MS = 1_000;
/** The lease of the node that makes or deletes a workspace. */
const ALONE = "workspaces";
/** How often to check whether another node has finished, ms. */
const ALONE_INTERVAL_MS = 25;

/** One row. `changes` is null after the installation has left the server. */
const TABLE = "governd_installation";
const CREATE = `CREATE TABLE IF NOT EXISTS ${TABLE} (
  one      INTEGER PRIMARY KEY CHECK (one = 1),
  id       TEXT    NOT NULL,  -- of the log of the installation
  changes  INTEGER
) STRICT`;

export class Coordination implements Disposable {
  readonly leases: Leases;
  /**
   * Resolves when other nodes know of a change, or do not use what they cached before it any more. A process that cannot
   * notify nodes waits until then.
   */
  announce = async (): Promise<void> => {
    const nodes = await this.leases.otherNodes();
    if (nodes.length > 0) await Bun.sleep(CACHE_MS);
  };
  /** The number of changes at the last {@link refresh}; null before the first. */
  #changes: number | null = null;

  private constructor(
    private readonly namespace: Namespace,
    private readonly engine: ServerEngine,
  ) {
    this.leases = new Leases(namespace);
  }

  /** Makes the namespace, unless it exists. @throws {ServerUnavailable} */
  static async open(engine: ServerEngine): Promise<Coordination> {
    await engine.ensureNamespace(NODES_NAMESPACE);
    const coordination = new Coordination(engine.namespace(NODES_NAMESPACE), engine);
    await coordination.namespace.write([{ sql: CREATE }, { sql: CREATE_LEASES }]);
    return coordination;
  }

  /**
   * Returns the pointer of a node's data directory. On its first start there is none yet, or, when a directory of the
   * embedded engine is about to be moved to the server, one of that engine.
   * @throws {Failure} `data_directory_unusable` when the server has another installation, or lost this one;
   *   `engine_unusable` when it is still in the data directory of the node that began to move it
   */
  async join(directory: DataDirectory, own: Pointer | null): Promise<Pointer | null> {
    const there = await installationOn(this.namespace);
    if (there === null && own?.engine === "libsql-server") throw new Failure("data_directory_unusable", LOST);
    if (there !== null && own !== null && own.installation_id !== there) {
      throw new Failure("data_directory_unusable", own.engine === "embedded" ? OCCUPIED : OTHER);
    }
    if (there !== null && own?.engine === "libsql-server") return own;
    if (there !== null && own === null && !(await this.engine.has(there))) {
      throw new Failure("engine_unusable", NOT_MOVED);
    }
    const id = there ?? own?.installation_id;
    return id === undefined ? null : await this.name(directory, id);
  }

  /** Stores which log is that of the installation, unless another node has done so. Returns the pointer to the one that counts. */
  async name(directory: DataDirectory, id: string): Promise<Pointer> {
    const insert = `INSERT INTO ${TABLE} (one, id, changes) VALUES (1, ?, 0)
      ON CONFLICT (one) DO UPDATE SET id = excluded.id, changes = 0 WHERE changes IS NULL`;
    await this.namespace.write([query(insert, id)]);
    const there = await installationOn(this.namespace);
    if (there === null) throw new Failure("data_directory_unusable", LOST);
    const pointer = { installation_id: there, engine: "libsql-server" } as const;
    writePointer(directory, pointer);
    return pointer;
  }

  /** Notes that the installation is not on the server any more: nodes that start are refused. */
  async leave(): Promise<void> {
    await this.namespace.write([{ sql: `UPDATE ${TABLE} SET changes = NULL` }]);
  }

  /** Tells the other nodes that rows have changed which they may have cached. @throws {ServerUnavailable} */
  async changed(): Promise<void> {
    await this.namespace.write([{ sql: `UPDATE ${TABLE} SET changes = changes + 1` }]);
    await this.announce();
  }

  /** Reports whether rows have changed since the last call, by this node or another. @throws {ServerUnavailable} */
  async refresh(): Promise<boolean> {
    const [[row] = []] = await this.namespace.read([{ sql: `SELECT changes FROM ${TABLE}` }]);
    const changes = (row?.[0] ?? null) as number | null;
    const isChanged = changes !== this.#changes;
    this.#changes = changes;
    return isChanged;
  }

  /**
   * Runs `work` while no other node runs such work.
   * @throws what `inUse` returns when others take longer than `patienceMs`
   */
  async alone<T>(patienceMs: number, inUse: () => Error, work: () => Promise<T>): Promise<T> {
    const until = performance.now() + patienceMs;
    while (!(await this.leases.take(ALONE)).isOwn) {
      if (performance.now() > until) throw inUse();
      await Bun.sleep(ALONE_INTERVAL_MS);
    }
    try {
      return await work();
    } finally {
      // If this fails, the lease expires by itself.
      await this.leases.giveUp(ALONE).catch(() => {});
    }
  }

  /** As {@link shareKeys}. */
  shareKeys(directory: DataDirectory, sealKey: SealKey): Promise<void> {
    return shareKeys(this.namespace, directory, sealKey);
  }

  [Symbol.dispose](): void {
    this.namespace.close();
  }
}

/** Returns the id of the installation that a server has, of which it is only read; null for none. @throws {ServerUnavailable} */
export async function installationOn(namespace: Namespace): Promise<string | null> {
  const [[row] = []] = await namespace.read([{ sql: `SELECT id FROM ${TABLE} WHERE changes IS NOT NULL` }]);
  return (row?.[0] as string | undefined) ?? null;
}

const LOST =
  "The libSQL server has no installation, although this data directory is a copy of one. Check engine_url, or restore the server's data.";

const OTHER =
  "The libSQL server has another installation than this data directory is a copy of. Check engine_url, or name a new data directory with --data-dir.";

const NOT_MOVED =
  "The installation is not on the libSQL server yet, but in the data directory of another node. Run `governd migrate --to URL` there, then start this node.";

const OCCUPIED =
  "The data directory holds workspaces or accounts of the embedded engine. Bring them to the server with `governd migrate --to URL`, or name a new data directory with --data-dir.";
