/**
 * The part of Hrana 3, the HTTP protocol of libSQL servers, that governd uses: one batch of statements per request, no
 * interactive transactions. The body of a batch is made once, as text, so that the same bytes can be sent again when an
 * answer is lost. (libSQL's own client makes a new body each time, and does not say whether a request was sent.)
 */
import { isIP } from "node:net";
import { Unreachable } from "../core/writer/storage-failure.ts";
import { sendRequest } from "../outbound.ts";

/** A parameter of a statement. Integers beyond 2^53 are sent as JSON text. */
type Argument = string | number | bigint | Uint8Array | null;

/** A statement with its arguments. */
export interface Statement {
  sql: string;
  args?: readonly Argument[];
}

/** Rows of a result; integers are numbers. */
export type ResultRow = (string | number | null)[];

/** The server's error for one step that failed. */
export interface StepError {
  message: string;
  code: string | null;
}

/** Returns a statement with arguments. */
export const query = (sql: string, ...args: Argument[]): Statement => ({ sql, args });

/** The results of a batch by its steps: rows, an error, or null for a step that did not run. */
export interface BatchResult {
  rows: (ResultRow[] | null)[];
  errors: (StepError | null)[];
}

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

/** A statement failed on the server. */
export class StatementFailed extends Error {
  override readonly name = "StatementFailed";

  /** Whether the rows are too large for one answer of the server. */
  get isTooLarge(): boolean {
    return /too large|too big|response size/i.test(this.message);
  }
}

type WireValue =
  | { type: "null" }
  | { type: "integer"; value: string }
  | { type: "float"; value: number }
  | { type: "text"; value: string }
  | { type: "blob"; base64: string };

interface WireResult {
  rows: WireValue[][];
}

interface WireBatch {
  step_results: (WireResult | null)[];
  step_errors: (StepError | null)[];
}

interface WireResponse {
  results: ({ type: "ok"; response: { result?: WireBatch } } | { type: "error"; error: StepError })[];
}

/** Codes of errors for connections that failed before anything was sent. */
const NOT_SENT = new Set(["ConnectionRefused", "ECONNREFUSED", "ENOTFOUND", "FailedToOpenSocket", "EHOSTUNREACH"]);

/**
 * How much of the answer to a refused request is repeated in messages, UTF-16 units. An answer with status 400 is not
 * repeated, since it may quote the request.
 */
const REASON_LENGTH = 200;

function argument(value: Argument): object {
  if (value === null) return { type: "null" };
  if (value instanceof Uint8Array) return { type: "blob", base64: value.toBase64({ omitPadding: true }) };
  return typeof value === "string" ? { type: "text", value } : { type: "integer", value: `${value}` };
}

const step = ({ sql, args = [] }: Statement, condition?: object) => ({
  stmt: { sql, args: args.map(argument), want_rows: true },
  ...(condition !== undefined && { condition }),
});

/**
 * Closes the server's connection, so that the next request opens another. A connection that is kept halves the server's
 * processor time for a commit, but still writes to a namespace that has been deleted, and the server acknowledges that.
 */
const CLOSE = { type: "close" };

/**
 * Returns the body of a request that runs statements one after another, each in its own transaction, until one fails.
 */
export function bodyOf(statements: readonly Statement[]): string {
  const steps = statements.map((each, index) => step(each, index === 0 ? undefined : { type: "ok", step: index - 1 }));
  return JSON.stringify({ requests: [{ type: "batch", batch: { steps } }, CLOSE] });
}

/**
 * Returns the body of a request that runs statements in one transaction: all of them, or none. The {@link BatchResult}
 * has the results of `before` and of BEGIN before those of the statements, and the results of COMMIT and ROLLBACK after
 * them.
 * @param before statements to run before the transaction
 */
export function transactionBody(
  statements: readonly Statement[],
  begin = "BEGIN IMMEDIATE",
  before: readonly Statement[] = [],
): string {
  const all = [...before, { sql: begin }, ...statements, { sql: "COMMIT" }];
  const steps = all.map((each, index) => step(each, index === 0 ? undefined : { type: "ok", step: index - 1 }));
  const commit = all.length - 1;
  steps.push(step({ sql: "ROLLBACK" }, { type: "not", cond: { type: "ok", step: commit } }));
  return JSON.stringify({ requests: [{ type: "batch", batch: { steps } }, CLOSE] });
}

const plainValue = (value: WireValue): string | number | null => {
  switch (value.type) {
    case "null":
      return null;
    case "integer":
      return Number(value.value);
    case "float":
    case "text":
      return value.value;
    case "blob":
      throw new Error("blobs are read as text");
  }
};

/** A libSQL server, or a replica of one. */
export class HranaServer {
  readonly #endpoint: string;
  readonly #hostSuffix: string;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(
    readonly url: string,
    token: string | null,
  ) {
    const parsed = new URL(url);
    this.#endpoint = new URL("v3/pipeline", url.endsWith("/") ? url : `${url}/`).href;
    const { hostname } = parsed;
    const isNamed = isIP(hostname.replace(/^\[|\]$/g, "")) === 0 && hostname.includes(".");
    // The server takes the first label of the host as the namespace, and ignores the others.
    this.#hostSuffix = isNamed ? parsed.host : "governd.internal";
    this.#headers = {
      "content-type": "application/json",
      // Otherwise the server compresses each answer, which takes longer than sending it uncompressed.
      "accept-encoding": "identity",
      ...(token !== null && { authorization: `Bearer ${token}` }),
    };
  }

  /**
   * Sends a body, made by {@link bodyOf} or {@link transactionBody}, to a namespace.
   * @throws {NoAnswer} after `timeoutMs`, or when the connection fails; {ServerRefused} when the server refuses the
   * request
   */
  async send(namespace: string, body: string, timeoutMs: number): Promise<BatchResult> {
    const response = await this.#post(namespace, body, timeoutMs);
    const [first] = response.results;
    if (first === undefined) throw new NoAnswer(true, "the answer of the libSQL server has no result");
    if (first.type === "error") throw new NoAnswer(true, first.error.message);
    const batch = first.response.result as WireBatch;
    return {
      rows: batch.step_results.map((result) => result?.rows.map((row) => row.map(plainValue)) ?? null),
      errors: batch.step_errors,
    };
  }

  async #post(namespace: string, body: string, timeoutMs: number): Promise<WireResponse> {
    let answered: Response;
    try {
      answered = await sendRequest(this.#endpoint, {
        method: "POST",
        headers: { ...this.#headers, host: `${namespace}.${this.#hostSuffix}` },
        body,
        signal: AbortSignal.timeout(timeoutMs),
        redirect: "error",
      });
    } catch (error) {
      throw noAnswer(error);
    }
    let text: string;
    try {
      text = await answered.text();
    } catch (error) {
      throw new NoAnswer(true, reasonOf(error));
    }
    if (answered.status >= 500) throw new NoAnswer(true, `status ${answered.status}`);
    if (!answered.ok)
      throw new ServerRefused(answered.status, answered.status === 400 ? "" : text.slice(0, REASON_LENGTH));
    try {
      return JSON.parse(text) as WireResponse;
    } catch {
      throw new NoAnswer(true, "the answer of the libSQL server is not complete");
    }
  }

  /** Returns the version of the server, as three numbers; null when its answer has none. @throws {NoAnswer} */
  async version(timeoutMs: number): Promise<[number, number, number] | null> {
    try {
      const answered = await sendRequest(new URL("version", this.#endpoint.replace(/v3\/pipeline$/, "")), {
        signal: AbortSignal.timeout(timeoutMs),
      });
      const [, major, minor, patch] = /(\d+)\.(\d+)\.(\d+)/.exec(await answered.text()) ?? [];
      return patch === undefined ? null : [Number(major), Number(minor), Number(patch)];
    } catch (error) {
      throw noAnswer(error);
    }
  }
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
