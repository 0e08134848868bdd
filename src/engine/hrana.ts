/**
 * The HTTP protocol of libSQL servers (Hrana 3), as far as governd speaks it: one batch of statements per request, without
 * interactive transactions. The body of a batch is made once, as text, so that the same bytes can be sent again when an
 * answer was lost; the server's own client makes a new body each time and does not say whether a request was sent.
 */
import { isIP } from "node:net";

/** What a parameter of a statement can be. Integers beyond 2^53 travel as JSON text. */
type Argument = string | number | Uint8Array | null;

/** A statement. A condition is the number of the step that must have ended well. */
export interface Statement {
  sql: string;
  args?: readonly Argument[];
}

/** Rows of a result; integers are numbers. */
export type ResultRow = (string | number | null)[];

/** What the server says of one step that failed. */
export interface StepError {
  message: string;
  code: string | null;
}

/** Statements with arguments. */
export const query = (sql: string, ...args: Argument[]): Statement => ({ sql, args });

/** The results of a batch by its steps: rows, an error, or null for a step that did not run. */
export interface BatchResult {
  rows: (ResultRow[] | null)[];
  errors: (StepError | null)[];
}

/** The server gave no definite answer. */
export class NoAnswer extends Error {
  override readonly name = "NoAnswer";

  /** @param mayHaveArrived whether the request may have reached the server, and may be carried out even later */
  constructor(
    readonly mayHaveArrived: boolean,
    reason: string,
  ) {
    super(reason);
  }
}

/** The server refused a request as a whole; nothing of it was carried out. */
export class ServerRefused extends Error {
  override readonly name = "ServerRefused";

  constructor(
    readonly status: number,
    reason: string,
  ) {
    super(`the libSQL server answers ${status}${reason === "" ? "" : `: ${reason}`}`);
  }

  /** The server does not find the namespace, which may be because it has too many open. */
  get isNotFound(): boolean {
    return this.status === 404;
  }
}

/** A statement of the node does not fit the database on the server. */
export class StatementFailed extends Error {
  override readonly name = "StatementFailed";

  /** Whether the rows are more than the server sends at once. */
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

/** Names with which a connection failed before anything was sent. */
const NOT_SENT = new Set(["ConnectionRefused", "ECONNREFUSED", "ENOTFOUND", "FailedToOpenSocket", "EHOSTUNREACH"]);

/** What of the answer to a refused request is repeated in messages, UTF-16 units. */
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

const CLOSE = { type: "close" };

/** Returns the body of a request that runs statements one after another, each in a transaction of its own. */
export function bodyOf(statements: readonly Statement[]): string {
  const steps = statements.map((each, index) => step(each, index === 0 ? undefined : { type: "ok", step: index - 1 }));
  return JSON.stringify({ requests: [{ type: "batch", batch: { steps } }, CLOSE] });
}

/**
 * Returns the body of a request that runs statements in one transaction: all of them, or none. Of its results,
 * {@link BatchResult} has one more before those of the statements, also one for each statement of `before`, and two behind
 * them.
 * @param before what is run before the transaction
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
    // The namespace is the first label, whatever follows it.
    this.#hostSuffix = isNamed ? parsed.host : "governd.internal";
    this.#headers = {
      "content-type": "application/json",
      // Otherwise it compresses each answer, which takes longer than to send it.
      "accept-encoding": "identity",
      ...(token !== null && { authorization: `Bearer ${token}` }),
    };
  }

  /**
   * Sends a body that was made above to a namespace.
   * @throws {NoAnswer} after `timeoutMs`, or when the connection fails; {ServerRefused} when the server refuses it
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
      answered = await fetch(this.#endpoint, {
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
    if (!answered.ok) throw new ServerRefused(answered.status, text.slice(0, REASON_LENGTH));
    try {
      return JSON.parse(text) as WireResponse;
    } catch {
      throw new NoAnswer(true, "the answer of the libSQL server is not complete");
    }
  }

  /** Returns the version of the server, as three numbers; null when it does not say. */
  async version(timeoutMs: number): Promise<[number, number, number] | null> {
    try {
      const answered = await fetch(new URL("version", this.#endpoint.replace(/v3\/pipeline$/, "")), {
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

/** Returns why a request got no answer. */
export function noAnswer(error: unknown): NoAnswer {
  const reason = reasonOf(error);
  return new NoAnswer(!NOT_SENT.has(reason), reason);
}
