/**
 * A database on the server, in a namespace of its own: the tables of a file, without their indexes, and a table with a
 * row for each commit. The row's key is the commit's number, so when two nodes commit on the same state, one of them
 * fails, whatever they wrote. The row also lists the keys that changed, so that other nodes can bring their copies up
 * to date.
 */

import { Unreachable } from "../core/writer/storage-failure.ts";
import { RandomPool } from "../ids.ts";
import { atMost } from "../timer.ts";
import { COMMITS_TABLE, type CommitState } from "./commits.ts";
import {
  type BatchResult,
  bodyOf,
  type HranaServer,
  NoAnswer,
  type ResultRow,
  ServerRefused,
  type Statement,
  StatementFailed,
  type StepError,
  transactionBody,
} from "./hrana.ts";
import { BulkReads, type Replicas } from "./replicas.ts";

/**
 * The number of commits whose changed keys are kept. A copy that lacks more than these is filled again with all rows.
 */
const COMMITS_KEPT = 10_000;

/** How long a commit may take, ms. After that, its clients are told that its outcome is unknown. */
const DEADLINE_MS = 2_000;
/** The timeout of the first request, and the longest, ms. It doubles with each attempt. */
const FIRST_ATTEMPT_MS = 1_000;
const LAST_ATTEMPT_MS = 10_000;
/** The timeout grows by this for each byte of the body, ms. */
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
  server: HranaServer;
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
   * the number or a guard fails. Sends the same bytes until there is a definite answer; after {@link DEADLINE_MS} it
   * returns `unknown`, and continues in the background until the outcome is known ({@link settled}).
   * @param before statements to run before the transaction
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
    before: readonly Statement[] = [],
  ): Promise<Outcome> {
    const token = this.#random.take(12).toHex();
    const row = {
      sql: `INSERT INTO ${COMMITS_TABLE} (number, token, format, changed) VALUES (?, ?, ?, ?)`,
      args: [number, token, format, changed],
    };
    const oldest = { sql: `DELETE FROM ${COMMITS_TABLE} WHERE number <= ?`, args: [number - COMMITS_KEPT] };
    const body = transactionBody([...guards, row, ...statements, oldest], undefined, before);
    const begunAt = before.length;
    const guardSteps = guards.length + 1;
    const sent: Sent = { mayHaveArrived: false };
    const settling = this.#settle({ body, number, token, begunAt, guardSteps }, sent);
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
    const { body, begunAt, guardSteps } = commit;
    try {
      const result = await this.options.server.send(this.name, body, attemptMs(attempt, body.length));
      const failed = result.errors.findIndex((error) => error !== null);
      if (failed === -1) return "committed";
      const error = result.errors[failed] as StepError;
      const isGuard = failed > begunAt && failed <= begunAt + guardSteps && isConstraint(error);
      if (isGuard) return sent.mayHaveArrived ? await this.#whose(commit) : "stale";
      // When COMMIT itself fails, the transaction may or may not be on disk.
      if (failed === result.errors.length - 2) sent.mayHaveArrived = true;
      return { reason: `the libSQL server answers ${error.code ?? "an error"}`, isFinal: !isPassing(error) };
    } catch (error) {
      return this.#failed(error, sent);
    }
  }

  /**
   * Returns whose commit has the number, after a guard failed: `committed` when an earlier request with the same bytes
   * was carried out, `stale` when it is another node's. Requests that are still on their way cannot change that.
   */
  async #whose({ number, token }: SentCommit): Promise<"committed" | "stale"> {
    const sql = `SELECT token FROM ${COMMITS_TABLE} WHERE number = ?`;
    const [row] = rowsOf(
      await this.options.server.send(this.name, bodyOf([{ sql, args: [number] }]), FIRST_ATTEMPT_MS),
    );
    return row?.[0] === token ? "committed" : "stale";
  }

  #failed(error: unknown, sent: Sent): Failed {
    if (error instanceof NoAnswer) {
      sent.mayHaveArrived ||= error.mayHaveArrived;
      return { reason: `the libSQL server does not answer (${error.message})`, isFinal: false };
    }
    if (!(error instanceof ServerRefused)) throw error;
    if (error.isNotFound) this.options.onWarning(notFound(this.name));
    return { reason: error.message, isFinal: !error.isNotFound };
  }

  /**
   * Returns the rows of each statement, all read in one transaction.
   * @throws {ServerUnavailable}; {ServerRefused} when there is no such namespace; {StatementFailed}
   */
  async read(statements: readonly Statement[], deadlineMs = READ_DEADLINE_MS): Promise<ResultRow[][]> {
    return this.#readBody(transactionBody(statements, "BEGIN"), deadlineMs);
  }

  async #readBody(body: string, deadlineMs: number): Promise<ResultRow[][]> {
    const begun = performance.now();
    for (let attempt = 0; ; attempt++) {
      try {
        const result = await this.options.server.send(this.name, body, Math.max(deadlineMs, FIRST_ATTEMPT_MS));
        const failed = result.errors.find((error) => error !== null);
        if (failed !== undefined && !isPassing(failed)) throw new StatementFailed(failed.message);
        if (failed === undefined) {
          this.#isDown = false;
          return result.rows.slice(1, -2) as ResultRow[][];
        }
      } catch (error) {
        const isPassing = error instanceof NoAnswer || (error instanceof ServerRefused && error.isNotFound);
        if (!isPassing) throw error instanceof ServerRefused ? new ServerUnavailable(error.message) : error;
        if (performance.now() - begun > Math.min(deadlineMs, this.#patienceMs)) {
          if (error instanceof ServerRefused) throw error;
          this.#isDown = true;
          throw new ServerUnavailable(`the libSQL server does not answer (${error.message})`);
        }
      }
      await Bun.sleep(pauseMs(attempt));
    }
  }

  /**
   * Runs statements in one transaction. They may be sent more than once, so they must be idempotent.
   * @throws as {@link read}
   */
  write(statements: readonly Statement[], deadlineMs = READ_DEADLINE_MS): Promise<ResultRow[][]> {
    return this.#readBody(transactionBody(statements), deadlineMs);
  }

  /** Returns the state of the namespace; null when nothing was stored in it yet. @throws as {@link read} */
  async state(): Promise<CommitState | null> {
    try {
      const [newest, oldest] = ["max", "min"].map((end) => `(SELECT ${end}(number) FROM ${COMMITS_TABLE})`);
      const sql = `SELECT number, token, ${oldest}, format FROM ${COMMITS_TABLE} WHERE number = ${newest}`;
      const [[row] = []] = await this.read([{ sql }]);
      const [number, token, first, format] = row as [number, string, number, number];
      return { number, token, oldest: first, format };
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
  body: string;
  number: number;
  token: string;
  /** The index of the step that begins the transaction. */
  begunAt: number;
  /** The number of steps after `begunAt` whose failure means that another node has committed first. */
  guardSteps: number;
}

/** Why an attempt failed. `isFinal`: another attempt would fail, too. */
interface Failed {
  reason: string;
  isFinal: boolean;
}

const rowsOf = ({ rows, errors }: BatchResult): ResultRow[] => {
  const failed = errors.find((error) => error !== null);
  if (failed !== undefined) throw new NoAnswer(false, failed?.message ?? "");
  return rows[0] as ResultRow[];
};

const isConstraint = ({ code, message }: StepError): boolean =>
  code?.startsWith("SQLITE_CONSTRAINT") === true || /constraint failed/i.test(message);

/** Whether the error is temporary. */
const isPassing = ({ code, message }: StepError): boolean =>
  /^SQLITE_(BUSY|LOCKED|PROTOCOL)/.test(code ?? "") || /database is locked|timed out|timeout/i.test(message);

const attemptMs = (attempt: number, bytes: number): number =>
  Math.min(FIRST_ATTEMPT_MS * 2 ** attempt, LAST_ATTEMPT_MS) + bytes * ATTEMPT_MS_PER_BYTE;

const pauseMs = (attempt: number): number => Math.min(FIRST_PAUSE_MS * 2 ** attempt, LAST_PAUSE_MS);

const notFound = (name: string): string =>
  `the libSQL server denies that the namespace ${name} exists, and is asked again: if there are more workspaces than its --max-active-namespaces, raise that and engine_max_namespaces`;
