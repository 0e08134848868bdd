/**
 * Reading many rows from a replica, so that the server itself need not send them. A replica lags, and has no authority: it
 * is read only once it shows the commit that the reader wants to reach, and what was read counts only if the server has
 * the newest commit that the replica showed. It may have more than the server, if that has lost its disk.
 */
import { COMMITS_TABLE, type CommitState } from "./commits.ts";
import {
  type HranaServer,
  NoAnswer,
  query,
  type ResultRow,
  ServerRefused,
  type Statement,
  StatementFailed,
  transactionBody,
} from "./hrana.ts";

/** The first version that makes its replication log durable. */
const FIRST_DURABLE = [0, 24, 33] as const;
export const FIRST_FOR_REPLICAS = FIRST_DURABLE.join(".");

/** How long to wait for a replica that lags, ms, and how often to look. */
const PATIENCE_MS = 500;
const LOOK_EVERY_MS = 20;
/** How long a replica may take to say how far it is, and the server to say its version, ms. */
const ANSWER_MS = 1_000;

const NEWEST = query(`SELECT number, token FROM ${COMMITS_TABLE} ORDER BY number DESC LIMIT 1`);

/** What rows can be read from. */
export interface Reads {
  /** Returns the rows of each statement; they are of one state of the database. */
  read(statements: readonly Statement[], deadlineMs?: number): Promise<ResultRow[][]>;
}

/** The namespace that is read. */
interface Origin extends Reads {
  readonly name: string;
  warn(warning: string): void;
}

/** Whether replicas of a server with this version never have what it loses in a crash of its machine. */
export function isForReplicas(version: readonly number[] | null): boolean {
  const differing = version?.findIndex((part, at) => part !== FIRST_DURABLE[at]) ?? 0;
  if (version === null || differing === -1) return version !== null;
  return (version[differing] as number) > (FIRST_DURABLE[differing] as number);
}

export class Replicas {
  #isUsable: Promise<boolean> | null = null;
  /** The one that is asked first. */
  #next = 0;

  constructor(
    private readonly server: HranaServer,
    private readonly all: readonly HranaServer[],
    private readonly onWarning: (warning: string) => void,
  ) {}

  /** Returns a replica that has a commit of a namespace; null when none has it within {@link PATIENCE_MS}. */
  async having(namespace: string, { number, token }: CommitState): Promise<HranaServer | null> {
    if (this.all.length === 0 || !(await this.#areUsable())) return null;
    const until = performance.now() + PATIENCE_MS;
    const first = this.#next++;
    const candidates = new Set(this.all.map((_, at) => this.all[(first + at) % this.all.length] as HranaServer));
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
      // It may be another version when it answers again.
      if (!isUsable) this.#isUsable = null;
      if (!isUsable)
        this.onWarning(`replicas are not read: their server must have version ${FIRST_FOR_REPLICAS} or newer`);
      return isUsable;
    });
  }
}

/** Returns the warning about a replica that has commits of a namespace which the server has not. */
export const otherCommits = (namespace: string): string =>
  `a replica has commits of ${namespace} that the libSQL server lacks: make a new replica, or restore what the server lost`;

/** Returns the newest commit that a replica shows; null when it shows none. */
async function newestOf(replica: HranaServer, namespace: string): Promise<[number, string] | null> {
  try {
    const { rows } = await replica.send(namespace, transactionBody([NEWEST], "BEGIN"), ANSWER_MS);
    return (rows[1]?.[0] as [number, string] | undefined) ?? null;
  } catch (error) {
    if (error instanceof NoAnswer || error instanceof ServerRefused) return null;
    throw error;
  }
}

/** Reads a namespace from a replica as long as that answers, and otherwise from the server. */
export class BulkReads implements Reads {
  /** The newest commit that the replica showed. */
  #newest: ResultRow | null = null;

  constructor(
    private readonly namespace: Origin,
    private replica: HranaServer | null,
  ) {}

  /** @throws as a read from the server */
  async read(statements: readonly Statement[], deadlineMs = ANSWER_MS): Promise<ResultRow[][]> {
    if (this.replica === null) return this.namespace.read(statements, deadlineMs);
    try {
      const body = transactionBody([...statements, NEWEST], "BEGIN");
      const { rows, errors } = await this.replica.send(this.namespace.name, body, deadlineMs);
      const failed = errors.find((error) => error !== null);
      if (failed !== undefined) throw new StatementFailed(failed?.message ?? "");
      const [newest, ...read] = (rows.slice(1, -2) as ResultRow[][]).toReversed();
      this.#newest = newest?.[0] ?? null;
      return read.toReversed();
    } catch (error) {
      if (error instanceof StatementFailed && error.isTooLarge) throw error;
      this.namespace.warn(`the replica ${this.replica.url} gives no answer any more: the rest is read from the server`);
      this.replica = null;
      return this.namespace.read(statements, deadlineMs);
    }
  }

  /** Reports whether the server has all that was read, so far as that can be told by its commits. */
  async areOfServer(): Promise<boolean> {
    if (this.#newest === null) return true;
    const sql = `SELECT 1 FROM ${COMMITS_TABLE} WHERE number = ? AND token = ?`;
    const [rows = []] = await this.namespace.read([query(sql, ...this.#newest)]);
    return rows.length > 0;
  }
}
