/**
 * Reads many rows from a replica, to relieve the server. A replica lags, and has no authority: it is read only once it
 * has the commit that the reader needs, and the rows count only if the server has the newest commit that the replica
 * showed. (A replica may have commits that the server lacks, when the server has lost its disk.)
 */
import { COMMITS_TABLE, type CommitState } from "./commits.ts";
import {
  NoAnswer,
  query,
  type ResultRow,
  type ServerClient,
  ServerRefused,
  type Statement,
  StatementFailed,
} from "./server.ts";

/** The first version of sqld that makes its replication log durable. */
const FIRST_DURABLE = [0, 24, 33] as const;
export const FIRST_FOR_REPLICAS = FIRST_DURABLE.join(".");

/** How long to wait for a replica that lags, ms, and how often to check it. */
const PATIENCE_MS = 500;
const LOOK_EVERY_MS = 20;
/** How long a replica may take to return its newest commit, and the server to return its version, ms. */
const ANSWER_MS = 1_000;

const NEWEST = query(`SELECT number, token FROM ${COMMITS_TABLE} ORDER BY number DESC LIMIT 1`);

/** A source of rows: a namespace of the server, or a replica. */
export interface Reads {
  /** Returns the rows of each statement, all read in one transaction. */
  read(statements: readonly Statement[], deadlineMs?: number): Promise<ResultRow[][]>;
}

interface Origin extends Reads {
  readonly name: string;
  warn(warning: string): void;
}

/**
 * Whether a server of this version makes its replication log durable, so that replicas cannot have commits that it
 * lost.
 */
export function isForReplicas(version: readonly number[] | null): boolean {
  const differing = version?.findIndex((part, at) => part !== FIRST_DURABLE[at]) ?? 0;
  if (version === null || differing === -1) return version !== null;
  return (version[differing] as number) > (FIRST_DURABLE[differing] as number);
}

export class Replicas {
  #isUsable: Promise<boolean> | null = null;
  /** The number of the replica that is tried first, modulo their count. */
  #next = 0;

  constructor(
    private readonly server: ServerClient,
    private readonly all: readonly ServerClient[],
    private readonly onWarning: (warning: string) => void,
  ) {}

  /** Returns a replica that has a commit of a namespace; null when none has it within {@link PATIENCE_MS}. */
  async having(namespace: string, { number, token }: CommitState): Promise<ServerClient | null> {
    if (this.all.length === 0 || !(await this.#areUsable())) return null;
    const until = performance.now() + PATIENCE_MS;
    const first = this.#next++;
    const candidates = new Set(this.all.map((_, at) => this.all[(first + at) % this.all.length] as ServerClient));
    while (candidates.size > 0) {
      for (const replica of candidates) {
        const [newest, newestToken] = (await newestOf(replica, namespace)) ?? [];
        const isOther = newest === number && newestToken !== token;
        if (isOther) this.onWarning(otherCommits(namespace));
        if (newest === undefined || isOther) candidates.delete(replica);
        else if (newest >= number) return replica;
      }
      if (performance.now() > until) return null;
      await Bun.sleep(LOOK_EVERY_MS);
    }
    return null;
  }

  #areUsable(): Promise<boolean> {
    this.#isUsable ??= this.server.version(ANSWER_MS).then(isForReplicas, () => false);
    return this.#isUsable.then((isUsable) => {
      // The server may be upgraded meanwhile, so its version is read again next time.
      if (!isUsable) this.#isUsable = null;
      if (!isUsable)
        this.onWarning(`replicas are not read: their server must have version ${FIRST_FOR_REPLICAS} or newer`);
      return isUsable;
    });
  }
}

/** Returns the warning about a replica with commits that the server lacks. */
export const otherCommits = (namespace: string): string =>
  `a replica has commits of ${namespace} that the libSQL server lacks: make a new replica, or restore what the server lost`;

/** Returns the number and the token of a replica's newest commit; null when it has none, or does not answer. */
async function newestOf(replica: ServerClient, namespace: string): Promise<[number, string] | null> {
  try {
    const [[newest] = []] = await replica.transact(namespace, "read", [NEWEST], ANSWER_MS);
    return (newest as [number, string] | undefined) ?? null;
  } catch (error) {
    if (error instanceof NoAnswer || error instanceof ServerRefused || error instanceof StatementFailed) return null;
    throw error;
  }
}

/** Reads a namespace from a replica while the replica answers, and from the server after that. */
export class BulkReads implements Reads {
  /** The newest commit that the replica showed. */
  #newest: ResultRow | null = null;

  constructor(
    private readonly namespace: Origin,
    private replica: ServerClient | null,
  ) {}

  /** @throws as {@link Namespace.read} */
  async read(statements: readonly Statement[], deadlineMs = ANSWER_MS): Promise<ResultRow[][]> {
    if (this.replica === null) return this.namespace.read(statements, deadlineMs);
    try {
      const all = await this.replica.transact(this.namespace.name, "read", [...statements, NEWEST], deadlineMs);
      this.#newest = all.at(-1)?.[0] ?? null;
      return all.slice(0, -1);
    } catch (error) {
      if (error instanceof StatementFailed && error.isTooLarge) throw error;
      this.namespace.warn(`the replica ${this.replica.url} gives no answer any more: the rest is read from the server`);
      this.replica = null;
      return this.namespace.read(statements, deadlineMs);
    }
  }

  /** Reports whether the server has the newest commit that the replica showed, and so all rows that were read. */
  async areOfServer(): Promise<boolean> {
    if (this.#newest === null) return true;
    const sql = `SELECT 1 FROM ${COMMITS_TABLE} WHERE number = ? AND token = ?`;
    const [rows = []] = await this.namespace.read([query(sql, ...this.#newest)]);
    return rows.length > 0;
  }
}
