/**
 * A database on the server, in a namespace of its own: its tables as in a file, without their indexes, and one more that
 * has a row for each commit. The number of a commit is its key, so of two nodes that commit on the same state one fails,
 * whatever they wrote. The row also says which keys changed, so that another node can bring its copy up to date.
 */
import { RandomPool } from "../ids.ts";
import { atMost } from "../timer.ts";
import { Unreachable } from "../workspace/storage-failure.ts";
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

/** Commits whose changed keys are kept. A copy that is further behind is made again from all rows. */
const COMMITS_KEPT = 10_000;

/** How long a group may take until its clients are told that nobody knows how it ended, ms. */
const DEADLINE_MS = 2_000;
/** How long one request may take at first, and at most, ms. */
const FIRST_ATTEMPT_MS = 1_000;
const LAST_ATTEMPT_MS = 10_000;
/** How much longer it may take for each byte of its body, ms. */
const ATTEMPT_MS_PER_BYTE = 1 / 2_000;
/** How long to wait before the next attempt at first, and at most, ms. */
const FIRST_PAUSE_MS = 20;
const LAST_PAUSE_MS = 500;
/** How long a read may take with all its attempts, ms. */
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
  /** Told of something that the operator should know, in words without data. */
  onWarning(warning: string): void;
}

export class Namespace {
  readonly #random = new RandomPool();
  /** Of a commit whose outcome its clients were not told: resolves when it is known. */
  #unsettled: Promise<Outcome> | null = null;
  #isDown = false;
  #isClosed = false;

  constructor(
    readonly name: string,
    private readonly options: NamespaceOptions,
  ) {}

  /** Tells the operator, in words without data. */
  warn(warning: string): void {
    this.options.onWarning(warning);
  }

  /** The address of the server. */
  get url(): string {
    return this.options.server.url;
  }

  /** Waits until it is known how the last commit ended. @throws {ServerUnavailable} when that takes too long */
  async settled(): Promise<void> {
    if (this.#unsettled === null) return;
    const outcome = await atMost(this.#patienceMs, this.#unsettled);
    if (outcome === undefined) throw new ServerUnavailable("an earlier commit has no definite answer yet");
  }

  /** Whether the end of the last commit is not known yet. */
  get isUnsettled(): boolean {
    return this.#unsettled !== null;
  }

  /**
   * Runs statements and the row of commit `number` in one transaction, unless another commit has the number, or the guard
   * fails. Sends the same bytes until there is a definite answer. After {@link DEADLINE_MS} it returns `unknown`, and
   * goes on until it knows ({@link settled}).
   * @throws {ServerUnavailable} when nothing was written and nothing of it can be written later
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

  /** How long a request waits for the server. While the server is down it is shorter: many may wait behind one another. */
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
      // Of a commit that failed on its way to the disk, nobody knows whether it is there.
      if (failed === result.errors.length - 2) sent.mayHaveArrived = true;
      return { reason: `the libSQL server answers ${error.code ?? "an error"}`, isFinal: !isPassing(error) };
    } catch (error) {
      return this.#failed(error, sent);
    }
  }

  /**
   * Returns whose commit has the number, after a refusal: this one, which an earlier request of the same bytes brought, or
   * another one. Nothing on its way can change that any more.
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
   * Returns the rows of each statement; they are of one state of the database.
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

  /** Runs statements in one transaction, which may be run again with the same effect. @throws as {@link read} */
  write(statements: readonly Statement[], deadlineMs = READ_DEADLINE_MS): Promise<ResultRow[][]> {
    return this.#readBody(transactionBody(statements), deadlineMs);
  }

  /** Returns how far the namespace is; null when nothing was stored in it yet. @throws as {@link read} */
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

  /** Returns what reads many rows, as they are at this commit or later. */
  async bulk(state: CommitState): Promise<BulkReads> {
    return new BulkReads(this, await this.options.replicas.having(this.name, state));
  }

  /** Gives up what has no definite answer yet. */
  close(): void {
    this.#isClosed = true;
  }
}

interface Sent {
  /** Whether a request with the bytes may be on its way, or was carried out. */
  mayHaveArrived: boolean;
}

interface SentCommit {
  body: string;
  number: number;
  token: string;
  /** The step that begins the transaction. */
  begunAt: number;
  /** Steps behind that one whose failure means that another node was faster. */
  guardSteps: number;
}

/** Why an attempt failed. `isFinal`: the next one would fail, too. */
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

/** Whether a statement failed for a reason that passes by itself. */
const isPassing = ({ code, message }: StepError): boolean =>
  /^SQLITE_(BUSY|LOCKED|PROTOCOL)/.test(code ?? "") || /database is locked|timed out|timeout/i.test(message);

const attemptMs = (attempt: number, bytes: number): number =>
  Math.min(FIRST_ATTEMPT_MS * 2 ** attempt, LAST_ATTEMPT_MS) + bytes * ATTEMPT_MS_PER_BYTE;

const pauseMs = (attempt: number): number => Math.min(FIRST_PAUSE_MS * 2 ** attempt, LAST_PAUSE_MS);

const notFound = (name: string): string =>
  `the libSQL server denies that the namespace ${name} exists, and is asked again: if there are more workspaces than its --max-active-namespaces, raise that and engine_max_namespaces`;
