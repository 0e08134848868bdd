/**
 * A database on the server, in a namespace of its own: the tables of a file, without their indexes, and a table with a
 * row for each commit. The row's key is the commit's number, so when two nodes commit on the same state, one of them
 * fails, whatever they wrote. The row also lists the keys that changed, so that other nodes can bring their copies up
 * to date.
 */

import { Unreachable } from "../core/writer/storage-failure.ts";
import { RandomPool } from "../ids.ts";
import { atMost } from "../timer.ts";
import { COMMITS_TABLE, type CommitState, STATE, stateOf } from "./commits.ts";
import { BulkReads, type Replicas } from "./replicas.ts";
import {
  type Mode,
  NoAnswer,
  query,
  type ResultRow,
  type ServerClient,
  ServerRefused,
  type Statement,
  StatementFailed,
} from "./server.ts";

/**
 * The number of commits whose changed keys are kept. A copy that lacks more than these is filled again with all rows.
 */
const COMMITS_KEPT = 10_000;

/** How long a commit may take, ms. After that, its clients are told that its outcome is unknown. */
const DEADLINE_MS = 2_000;
/** The timeout of the first request, and the longest, ms. It doubles with each attempt. */
const FIRST_ATTEMPT_MS = 1_000;
const LAST_ATTEMPT_MS = 10_000;
/** The timeout grows by this for each byte of the arguments, ms. */
const ATTEMPT_MS_PER_BYTE = 1 / 2_000;
/** The first pause between two attempts, and the longest, ms. It doubles with each attempt. */
const FIRST_PAUSE_MS = 20;
const LAST_PAUSE_MS = 500;
/** How long all attempts of a read may take together, ms. */
const READ_DEADLINE_MS = 2_000;

/** What happened to a commit. */
export type Outcome = "committed" | "stale" | "unknown";

/** Nothing was written: the server cannot be reached, or refuses this node. */
export class ServerUnavailable extends Unreachable {
  override readonly name = "ServerUnavailable";
}

interface NamespaceOptions {
  server: ServerClient;
  replicas: Replicas;
  /** Called with a message for the operator, which contains no data of users. */
  onWarning(warning: string): void;
}

export class Namespace {
  readonly #random = new RandomPool();
  /** Resolves when the outcome is known of a commit that returned `unknown`; null when there is no such commit. */
  #unsettled: Promise<Outcome> | null = null;
  #isDown = false;
  #isClosed = false;

  constructor(
    readonly name: string,
    private readonly options: NamespaceOptions,
  ) {}

  /** Sends a message to the operator; it must not contain data of users. */
  warn(warning: string): void {
    this.options.onWarning(warning);
  }

  /** The address of the server. */
  get url(): string {
    return this.options.server.url;
  }

  /** Waits until the outcome of the last commit is known. @throws {ServerUnavailable} when that takes too long */
  async settled(): Promise<void> {
    if (this.#unsettled === null) return;
    const outcome = await atMost(this.#patienceMs, this.#unsettled);
    if (outcome === undefined) throw new ServerUnavailable("an earlier commit has no definite answer yet");
  }

  /** Whether the outcome of the last commit is not known yet. */
  get isUnsettled(): boolean {
    return this.#unsettled !== null;
  }

  /**
   * Runs statements and inserts the row of commit `number`, in one transaction. Returns `stale` when another commit has
   * the number or a guard fails. Sends the same request until there is a definite answer; after {@link DEADLINE_MS} it
   * returns `unknown`, and continues in the background until the outcome is known ({@link settled}).
   * @param mode `rebuild` when the statements replace tables to which others refer
   * @throws {ServerUnavailable} when nothing was written, and nothing can be written later
   */
  async commit(
    {
      number,
      format,
      changed,
      guards,
    }: { number: number; format: number; changed: string; guards: readonly Statement[] },
    statements: readonly Statement[],
    mode: "write" | "rebuild" = "write",
  ): Promise<Outcome> {
    const token = this.#random.take(12).toHex();
    const row = {
      sql: `INSERT INTO ${COMMITS_TABLE} (number, token, format, changed) VALUES (?, ?, ?, ?)`,
      args: [number, token, format, changed],
    };
    const oldest = { sql: `DELETE FROM ${COMMITS_TABLE} WHERE number <= ?`, args: [number - COMMITS_KEPT] };
    const all = [...guards, row, ...statements, oldest];
    const sent: Sent = { mayHaveArrived: false };
    const settling = this.#settle({ mode, statements: all, number, token, guards: guards.length + 1 }, sent);
    settling.catch(() => {});
    const outcome = (await atMost(DEADLINE_MS, settling)) ?? "unknown";
    if (outcome === "unknown") {
      this.#unsettled = settling.catch(() => "stale" as const);
      void this.#unsettled.then(() => {
        this.#unsettled = null;
      });
    }
    return outcome;
  }

  async #settle(commit: SentCommit, sent: Sent): Promise<Outcome> {
    const begun = performance.now();
    for (let attempt = 0; ; attempt++) {
      if (this.#isClosed && attempt > 0) throw new ServerUnavailable("the node stops");
      const verdict = await this.#attempt(commit, sent, attempt);
      if (verdict === "committed" || verdict === "stale") {
        this.#isDown = false;
        return verdict;
      }
      if (!sent.mayHaveArrived && (verdict.isFinal || performance.now() - begun > this.#patienceMs - LAST_PAUSE_MS)) {
        this.#isDown ||= !verdict.isFinal;
        throw new ServerUnavailable(verdict.reason);
      }
      await Bun.sleep(pauseMs(attempt));
    }
  }

  /**
   * How long a request waits for the server, ms. It is shorter while the server is down, since requests queue.
   */
  get #patienceMs(): number {
    return this.#isDown ? LAST_PAUSE_MS + 2 * FIRST_PAUSE_MS : DEADLINE_MS - FIRST_PAUSE_MS;
  }

  async #attempt(commit: SentCommit, sent: Sent, attempt: number): Promise<"committed" | "stale" | Failed> {
    const { mode, statements } = commit;
    const timeoutMs = attemptMs(attempt, statements);
    try {
      await this.options.server.transact(this.name, mode, statements, timeoutMs);
      return "committed";
    } catch (error) {
      const isGuard = error instanceof StatementFailed && isOfGuard(error, commit);
      if (!isGuard) return this.#failed(error, sent);
      return sent.mayHaveArrived ? this.#whose(commit, sent) : "stale";
    }
  }

  /**
   * Returns whose commit has the number, after a guard failed: `committed` when an earlier request with the same bytes
   * was carried out, `stale` when it is another node's. Requests that are still on their way cannot change that.
   */
  async #whose({ number, token }: SentCommit, sent: Sent): Promise<"committed" | "stale" | Failed> {
    const lookup = query(`SELECT token FROM ${COMMITS_TABLE} WHERE number = ?`, number);
    try {
      const [[row] = []] = await this.options.server.transact(this.name, "read", [lookup], FIRST_ATTEMPT_MS);
      return row?.[0] === token ? "committed" : "stale";
    } catch (error) {
      return this.#failed(error, sent);
    }
  }

  #failed(error: unknown, sent: Sent): Failed {
    if (error instanceof NoAnswer) {
      sent.mayHaveArrived ||= error.mayHaveArrived;
      return { reason: `the libSQL server does not answer (${error.message})`, isFinal: false };
    }
    if (error instanceof StatementFailed)
      return { reason: `the libSQL server answers ${error.code}`, isFinal: !error.isPassing };
    if (!(error instanceof ServerRefused)) throw error;
    if (error.isNotFound) this.options.onWarning(notFound(this.name));
    return { reason: error.message, isFinal: !error.isNotFound };
  }

  /**
   * Returns the rows of each statement, all read in one transaction.
   * @throws {ServerUnavailable}; {ServerRefused} when there is no such namespace; {StatementFailed}
   */
  read(statements: readonly Statement[], deadlineMs = READ_DEADLINE_MS): Promise<ResultRow[][]> {
    return this.#repeat("read", statements, deadlineMs);
  }

  /**
   * Runs statements in one transaction. They may be sent more than once, so they must be idempotent.
   * @throws as {@link read}
   */
  write(statements: readonly Statement[], deadlineMs = READ_DEADLINE_MS): Promise<ResultRow[][]> {
    return this.#repeat("write", statements, deadlineMs);
  }

  async #repeat(mode: Mode, statements: readonly Statement[], deadlineMs: number): Promise<ResultRow[][]> {
    const begun = performance.now();
    const timeoutMs = Math.max(deadlineMs, FIRST_ATTEMPT_MS);
    for (let attempt = 0; ; attempt++) {
      try {
        const rows = await this.options.server.transact(this.name, mode, statements, timeoutMs);
        this.#isDown = false;
        return rows;
      } catch (error) {
        if (!isPassing(error)) throw error instanceof ServerRefused ? new ServerUnavailable(error.message) : error;
        const isLate = performance.now() - begun > Math.min(deadlineMs, this.#patienceMs);
        if (isLate && error instanceof ServerRefused) throw error;
        if (isLate && error instanceof NoAnswer) {
          this.#isDown = true;
          throw new ServerUnavailable(`the libSQL server does not answer (${error.message})`);
        }
      }
      await Bun.sleep(pauseMs(attempt));
    }
  }

  /** Returns the state of the namespace; null when nothing was stored in it yet. @throws as {@link read} */
  async state(): Promise<CommitState | null> {
    try {
      const [rows = []] = await this.read([STATE]);
      return stateOf(rows);
    } catch (error) {
      if (error instanceof StatementFailed && error.message.includes(`no such table: ${COMMITS_TABLE}`)) return null;
      throw error;
    }
  }

  /** Returns a reader for many rows as of this commit or a later one: from a replica if one has the commit. */
  async bulk(state: CommitState): Promise<BulkReads> {
    return new BulkReads(this, await this.options.replicas.having(this.name, state));
  }

  /** Stops trying to learn the outcome of an unsettled commit. */
  close(): void {
    this.#isClosed = true;
  }
}

interface Sent {
  /** Whether a request with these bytes may be on its way, or may have been carried out. */
  mayHaveArrived: boolean;
}

interface SentCommit {
  mode: "write" | "rebuild";
  statements: readonly Statement[];
  number: number;
  token: string;
  /** How many of the first statements fail when another node has committed first. */
  guards: number;
}

/** Why an attempt failed. `isFinal`: another attempt would fail, too. */
interface Failed {
  reason: string;
  isFinal: boolean;
}

const isOfGuard = ({ index, isConstraint }: StatementFailed, { guards }: SentCommit): boolean =>
  index !== null && index < guards && isConstraint;

/** Whether the same request may succeed later. */
const isPassing = (error: unknown): boolean =>
  error instanceof NoAnswer ||
  (error instanceof ServerRefused && error.isNotFound) ||
  (error instanceof StatementFailed && error.isPassing);

function attemptMs(attempt: number, statements: readonly Statement[]): number {
  const args = statements.flatMap(({ args = [] }) => args);
  const bytes = args.reduce<number>(
    (sum, arg) => sum + (typeof arg === "object" || typeof arg === "string" ? (arg?.length ?? 0) : 0),
    0,
  );
  return Math.min(FIRST_ATTEMPT_MS * 2 ** attempt, LAST_ATTEMPT_MS) + bytes * ATTEMPT_MS_PER_BYTE;
}

const pauseMs = (attempt: number): number => Math.min(FIRST_PAUSE_MS * 2 ** attempt, LAST_PAUSE_MS);

const notFound = (name: string): string =>
  `the libSQL server denies that the namespace ${name} exists, and is asked again: if there are more workspaces than its --max-active-namespaces, raise that and engine_max_namespaces`;
