/**
 * The control database on a libSQL server, which all nodes share. Each node reads a working copy; a change is committed
 * on the server first. A node sees the changes of other nodes within a second.
 */
import type { DataDirectory } from "../../core/datadir/layout.ts";
import type { SealKey } from "../../core/datadir/seal-key.ts";
import { SerialQueue } from "../../core/serial-queue.ts";
import { Failure } from "../../failure.ts";
import type { Connection } from "../../store/connection.ts";
import type { EncryptionKey } from "../../store/encryption.ts";
import { EMBEDDED, locationOf } from "../../store/location.ts";
import { type Migration, newestSchema } from "../../store/migrate.ts";
import type { MaybePromise } from "../../store/transaction.ts";
import { WorkingCopy } from "../copy.ts";
import { UnknownNamespace } from "../copy-errors.ts";
import { Leases } from "../leases.ts";
import type { Namespace } from "../namespace.ts";
import { FIRST_COMMIT, NamespaceUsed, pushInto } from "../push.ts";
import { CONTROL_NAMESPACE, type ServerEngine } from "../server-engine.ts";
import { upgrade } from "../upgrade.ts";
import { shareKeys } from "./shared-keys.ts";

/** How long a node may use what it has read from the control database, ms. */
export const CACHE_MS = 1_000;
/** The lease of the node that decides, records and applies an act. */
const ACTS = "acts";
/** How often to check whether another node has finished its act, ms. */
const ACT_INTERVAL_MS = 25;

export class SharedControl {
  /** Runs changes and refreshes of the copy one after another. */
  readonly #queue = new SerialQueue();
  readonly leases: Leases;
  /** Resolves when other nodes know of a change, or do not use older state any more. */
  announce: () => Promise<void> = async () => {};
  /** The number of the newest commit at the last {@link refresh}. */
  #told: number;

  private constructor(
    private readonly copy: WorkingCopy,
    private readonly namespace: Namespace,
  ) {
    this.leases = new Leases(namespace);
    this.#told = copy.number;
  }

  /**
   * @param path of the file of `connection`
   * @throws {Failure} `data_directory_unusable` for a database that is only in the file, `newer_database`, `engine_unusable`
   */
  static async open(
    engine: ServerEngine,
    connection: Connection,
    {
      migrations,
      path,
      encryptionKey,
    }: { migrations: readonly Migration[]; path: string; encryptionKey: EncryptionKey | null },
  ): Promise<SharedControl> {
    const format = newestSchema(migrations);
    await engine.ensureNamespace(CONTROL_NAMESPACE);
    const namespace = engine.namespace(CONTROL_NAMESPACE);
    const isCopy = locationOf(connection) !== EMBEDDED;
    const isUsed = (await namespace.state()) !== null;
    if (!isCopy && isUsed) requireEmpty(connection);
    if (!isUsed) {
      if (isCopy) throw new Failure("data_directory_unusable", LOST);
      await pushFirst(namespace, connection, format);
    }
    const upgradeIt = () => upgrade({ namespace, migrations, log: null, path, encryptionKey });
    const copy = new WorkingCopy(connection, namespace, { format, log: null, upgrade: upgradeIt });
    await copy.refresh().catch((error) => {
      throw error instanceof UnknownNamespace ? unknownOnServer(error) : error;
    });
    const shared = new SharedControl(copy, namespace);
    await shared.leases.create();
    return shared;
  }

  /** As {@link WorkingCopy.change}, after `check`, while no other work has a transaction on the copy. */
  change<T>(check: () => MaybePromise<void>, work: () => T): Promise<T> {
    return this.#queue.run(async () => {
      await check();
      return this.copy.change(work);
    });
  }

  /**
   * Brings the copy up to date. Returns whether anything has changed since the last call, including changes of other
   * nodes that a change of this node has brought along, since the caller's caches do not have them yet.
   */
  refresh(): Promise<boolean> {
    return this.#queue.run(async () => {
      await this.copy.refresh();
      const isChanged = this.copy.number !== this.#told;
      this.#told = this.copy.number;
      return isChanged;
    });
  }

  /**
   * Runs `work` while no other node runs such work, on a copy that is up to date.
   * @throws what `inUse` returns when others take longer than `patienceMs`
   */
  async alone<T>(patienceMs: number, inUse: () => Error, work: () => Promise<T>): Promise<T> {
    const until = performance.now() + patienceMs;
    while (!(await this.leases.take(ACTS)).isOwn) {
      if (performance.now() > until) throw inUse();
      await Bun.sleep(ACT_INTERVAL_MS);
    }
    try {
      await this.#queue.run(() => this.copy.refresh());
      return await work();
    } finally {
      // If this fails, the lease expires by itself.
      await this.leases.giveUp(ACTS).catch(() => {});
    }
  }

  /** Makes changes of this process, which cannot notify nodes, wait until no node uses older state any more. */
  outwaitNodes(): void {
    this.announce = async () => {
      const nodes = await this.leases.otherNodes();
      if (nodes.length > 0) await Bun.sleep(CACHE_MS);
    };
  }

  /** As {@link shareKeys}. */
  shareKeys(directory: DataDirectory, sealKey: SealKey): Promise<void> {
    return shareKeys(this.namespace, directory, sealKey);
  }

  close(): void {
    this.namespace.close();
  }
}

const LOST =
  "The libSQL server has no control database, although this data directory is a copy of one. Check engine_url, or restore the server's data.";

/** Copies a new database to the server, unless another node does so first. */
async function pushFirst(namespace: Namespace, connection: Connection, format: number): Promise<void> {
  try {
    await pushInto(namespace, connection, { format });
    connection.exec(`PRAGMA application_id = ${FIRST_COMMIT}`);
  } catch (error) {
    if (!(error instanceof NamespaceUsed)) throw error;
  }
}

const unknownOnServer = (error: UnknownNamespace): Failure =>
  new Failure(
    error.isNewer ? "newer_database" : "engine_unusable",
    `On the libSQL server, ${error.message}. Nothing was changed.`,
    { cause: error },
  );

function requireEmpty(connection: Connection): void {
  if (connection.value("SELECT 1 FROM workspaces UNION SELECT 1 FROM accounts") === undefined) return;
  throw new Failure(
    "data_directory_unusable",
    "The data directory holds workspaces or accounts of the embedded engine. Bring them to the server with `governd migrate --to URL`, or name a new data directory with --data-dir.",
  );
}
