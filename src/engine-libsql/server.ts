/**
 * A libSQL server, through libSQL's own client. A request is one transaction and one POST: the client closes its stream
 * with it. The client is given a `fetch` that names the namespace, has the deadline, and says of a request without an
 * answer whether it may have arrived.
 */
import { isIP } from "node:net";
import { type Client, createClient, type InStatement, LibsqlBatchError, LibsqlError } from "@libsql/client/http";
import { Unreachable } from "../core/writer/storage-failure.ts";
import { sendRequest } from "../outbound.ts";

/** A parameter of a statement. Numbers are integers, and integers beyond 2^53 are sent as JSON text. */
type Argument = string | number | bigint | Uint8Array | null;

/** A statement with its arguments. */
export interface Statement {
  sql: string;
  args?: readonly Argument[];
}

/** Rows of a result; integers are numbers. */
export type ResultRow = (string | number | null)[];

/** Returns a statement with arguments. */
export const query = (sql: string, ...args: Argument[]): Statement => ({ sql, args });

/** What a transaction does: `rebuild` also replaces tables to which others refer. */
export type Mode = "read" | "write" | "rebuild";

/** The server gave no definite answer. */
export class NoAnswer extends Error {
  override readonly name = "NoAnswer";

  /** @param mayHaveArrived whether the request may have reached the server, which may still carry it out */
  constructor(
    readonly mayHaveArrived: boolean,
    reason: string,
  ) {
    super(reason);
  }
}

/** The server refused a request as a whole, and carried out none of it. */
export class ServerRefused extends Unreachable {
  override readonly name = "ServerRefused";

  constructor(
    readonly status: number,
    reason: string,
  ) {
    super(`the libSQL server answers ${status}${reason === "" ? "" : `: ${reason}`}`);
  }

  /** Whether the server does not find the namespace, possibly because it has too many open. */
  get isNotFound(): boolean {
    return this.status === 404;
  }
}

/** A transaction failed on the server, which has rolled it back. */
export class StatementFailed extends Error {
  override readonly name = "StatementFailed";

  /** @param index the statement that failed; null when the transaction could not begin or its rows were too large */
  constructor(
    readonly index: number | null,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }

  /** Whether the rows are too large for one answer of the server. */
  get isTooLarge(): boolean {
    return /too large|too big|response size/i.test(this.message);
  }

  get isConstraint(): boolean {
    return this.code.startsWith("SQLITE_CONSTRAINT") || /constraint failed/i.test(this.message);
  }

  /** Whether the error is temporary. */
  get isPassing(): boolean {
    return this.isLocked || /database is locked|timed out|timeout/i.test(this.message);
  }

  /** Whether another transaction had the lock: SQLite did nothing. */
  get isLocked(): boolean {
    return /^SQLITE_(BUSY|LOCKED|PROTOCOL)/.test(this.code);
  }
}

/** Codes of errors for connections that failed before anything was sent. */
const NOT_SENT = new Set(["ConnectionRefused", "ECONNREFUSED", "ENOTFOUND", "FailedToOpenSocket", "EHOSTUNREACH"]);

/**
 * How much of the answer to a refused request is repeated in messages, UTF-16 units. An answer with status 400 is not
 * repeated, since it may quote the request.
 */
const REASON_LENGTH = 200;

const INCOMPLETE = "the answer of the libSQL server is not complete";

/** A libSQL server, or a replica of one. */
export class ServerClient {
  readonly #base: string;
  readonly #hostSuffix: string;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(
    readonly url: string,
    token: string | null,
  ) {
    const { hostname, host } = new URL(url);
    this.#base = url.endsWith("/") ? url : `${url}/`;
    const isNamed = isIP(hostname.replace(/^\[|\]$/g, "")) === 0 && hostname.includes(".");
    // The server takes the first label of the host as the namespace, and ignores the others.
    this.#hostSuffix = isNamed ? host : "governd.internal";
    this.#headers = {
      "content-type": "application/json",
      // Otherwise the server compresses each answer, which takes longer than sending it uncompressed.
      "accept-encoding": "identity",
      ...(token !== null && { authorization: `Bearer ${token}` }),
    };
  }

  /**
   * Runs statements in one transaction of a namespace, all of them or none, and returns the rows of each. It is sent
   * once; the same statements make the same request.
   * @throws {NoAnswer} after `timeoutMs`, when the connection fails, and when nobody knows whether it was committed;
   * {ServerRefused}; {StatementFailed}
   */
  async transact(
    namespace: string,
    mode: Mode,
    statements: readonly Statement[],
    timeoutMs: number,
  ): Promise<ResultRow[][]> {
    const client = this.#client(namespace, timeoutMs);
    const bound = statements.map(boundStatement);
    try {
      const results = await (mode === "rebuild"
        ? client.migrate(bound)
        : client.batch(bound, mode === "read" ? "deferred" : "write"));
      return results.map(({ rows }) => rows.map((row) => Array.from(row) as ResultRow));
    } catch (error) {
      throw failure(error);
    }
  }

  /** Returns a client for one request. It holds no connection. */
  #client(namespace: string, timeoutMs: number): Client {
    const headers = { ...this.#headers, host: `${namespace}.${this.#hostSuffix}` };
    const send = (request: Request) => answerTo(request, headers, timeoutMs);
    return createClient({ url: this.#base, fetch: send, intMode: "number" });
  }

  /** Returns the version of the server, as three numbers; null when its answer has none. @throws {NoAnswer} */
  async version(timeoutMs: number): Promise<[number, number, number] | null> {
    try {
      const answered = await sendRequest(new URL("version", this.#base), { signal: AbortSignal.timeout(timeoutMs) });
      const [, major, minor, patch] = /(\d+)\.(\d+)\.(\d+)/.exec(await answered.text()) ?? [];
      return patch === undefined ? null : [Number(major), Number(minor), Number(patch)];
    } catch (error) {
      throw noAnswer(error);
    }
  }
}

/** The client sends numbers as floating point, and bigints as integers. */
const boundStatement = ({ sql, args = [] }: Statement): InStatement => ({
  sql,
  args: args.map((each) => (typeof each === "number" ? BigInt(each) : each)),
});

/** Returns the whole answer to a request that carries it out. @throws {NoAnswer}; {ServerRefused} */
async function answerTo(request: Request, headers: Record<string, string>, timeoutMs: number): Promise<Response> {
  let answered: Response;
  try {
    answered = await sendRequest(request, { headers, signal: AbortSignal.timeout(timeoutMs), redirect: "error" });
  } catch (error) {
    throw noAnswer(error);
  }
  let text: string;
  try {
    text = await answered.text();
  } catch (error) {
    throw new NoAnswer(true, reasonOf(error));
  }
  const { status } = answered;
  if (status >= 500) throw new NoAnswer(true, `status ${status}`);
  if (!answered.ok) throw new ServerRefused(status, status === 400 ? "" : text.slice(0, REASON_LENGTH));
  return new Response(text);
}

/** Returns what an error of the client means. */
function failure(error: unknown): unknown {
  if (error instanceof SyntaxError) return new NoAnswer(true, INCOMPLETE);
  if (!(error instanceof LibsqlError)) return error;
  const { code, message } = error;
  if (error instanceof LibsqlBatchError) return new StatementFailed(error.statementIndex, code, message);
  if (code.startsWith("HRANA_")) return new NoAnswer(true, INCOMPLETE);
  // BEGIN, COMMIT or the request as a whole: when COMMIT fails, the transaction may or may not be on the disk.
  const failed = new StatementFailed(null, code, message);
  return failed.isLocked || failed.isTooLarge ? failed : new NoAnswer(true, message);
}

const reasonOf = (error: unknown): string => {
  const { name, code } = error as { name?: unknown; code?: unknown };
  return typeof code === "string" ? code : typeof name === "string" ? name : "it failed";
};

/** Returns the error for a request without an answer. @param error what `fetch` threw */
export function noAnswer(error: unknown): NoAnswer {
  const reason = reasonOf(error);
  return new NoAnswer(!NOT_SENT.has(reason), reason);
}
