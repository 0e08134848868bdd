/**
 * A libSQL server without governd: the rows of governed writes, packed as a node packs them, in guarded batches that
 * follow each other. Nothing is checked, hashed, screened or answered: this is what the server can take.
 */

import { CREATE_COMMITS } from "../../src/engine-libsql/commits.ts";
import type { Namespace } from "../../src/engine-libsql/namespace.ts";
import { GUARD, ServerEngine } from "../../src/engine-libsql/server-engine.ts";
import { type ReplicatedTable, readTables, statementsOf } from "../../src/engine-libsql/tables.ts";
import { openConnection } from "../../src/store/connection.ts";
import type { LibsqlServer } from "../../test/support/libsql-server.ts";

/** The rows of a workspace, as JSON arrays. */
interface Rows {
  tables: ReadonlyMap<string, ReplicatedTable>;
  events: string[];
  entries: string[];
  agents: string[];
  head: string;
}

/** The most rows of a kind that are repeated. */
const MOST_ROWS = 20_000;

/** Reads the rows that governed writes left in a file. */
export function rowsOf(file: string): Rows {
  using connection = openConnection(file, { readOnly: true });
  const tables = readTables(connection);
  const all = (name: string) => {
    const table = tables.get(name) as ReplicatedTable;
    const sql = `SELECT ${table.rowJson} FROM ${name} ORDER BY ${table.keyColumns} DESC LIMIT ${MOST_ROWS}`;
    return connection.all<[string]>(sql).map(([row]) => row);
  };
  const [head] = all("head") as [string];
  return { tables, events: all("events"), entries: all("entries"), agents: all("agents"), head };
}

/** One namespace, and the length of its log. */
class Target {
  #next = 0;
  #commits = 0;
  #entry = 0;

  constructor(
    private readonly namespace: Namespace,
    private readonly rows: Rows,
  ) {}

  async create(): Promise<void> {
    const { tables, head } = this.rows;
    const definitions = [...tables.values()].map(({ definition }) => ({ sql: definition }));
    await this.namespace.write([{ sql: CREATE_COMMITS }, ...definitions]);
    await this.#commit(new Map([["head", { rows: [head], gone: [] }]]), "{}");
  }

  async write(count: number): Promise<void> {
    const { events, entries, agents, head } = this.rows;
    const appended = Array.from({ length: count }, (_, at) => {
      const row = events[(this.#next + at) % events.length] as string;
      return `[${this.#next + at}${row.slice(row.indexOf(","))}`;
    });
    const put = Array.from({ length: count }, () => entries[this.#entry++ % entries.length] as string);
    this.#next += count;
    const changes = new Map([
      ["head", { rows: [head], gone: [] }],
      ["events", { rows: appended, gone: [] }],
      ["agents", { rows: agents, gone: [] }],
      ["entries", { rows: put, gone: [] }],
    ]);
    const keys = put.map((row) => Number(row.slice(1, row.indexOf(","))));
    await this.#commit(changes, JSON.stringify({ entries: keys, head: [1] }));
  }

  async #commit(changes: ReadonlyMap<string, { rows: string[]; gone: never[] }>, changed: string): Promise<void> {
    const statements = statementsOf(this.rows.tables, changes);
    const [, , , seq, hash] = JSON.parse(this.rows.head) as [number, string, string, number, string];
    const guard = { sql: GUARD, args: [seq, hash] };
    const outcome = await this.namespace.commit(
      { number: ++this.#commits, format: 0, changed, guards: [guard] },
      statements,
    );
    if (outcome !== "committed") throw new Error(`a packed batch is ${outcome}`);
  }
}

/** What the server accepted. */
export interface Packed {
  perSecond: number;
  /** Processor time of this process for each write, microseconds. */
  clientUs: number;
  writes: number;
}

/** Writes batches of `size` to `workspaces` new namespaces, one batch at a time to each, for some seconds. */
export async function writePacked(
  server: LibsqlServer,
  rows: Rows,
  { workspaces, size, seconds }: { workspaces: number; size: number; seconds: number },
): Promise<Packed> {
  const { url, token: authToken } = server;
  const engine = new ServerEngine({ url, authToken, adminUrl: null, adminToken: null, replicaUrls: [] }, console.error);
  const targets: Target[] = [];
  for (let at = 0; at < workspaces; at++) {
    const name = `packed-${crypto.randomUUID()}`;
    await server.createNamespace(name, { durability_mode: "strong", max_row_size: 512 * 1024 * 1024 });
    const target = new Target(engine.namespace(name), rows);
    await target.create();
    targets.push(target);
  }
  const cpu = process.cpuUsage();
  const began = performance.now();
  const end = began + seconds * 1_000;
  let writes = 0;
  await Promise.all(
    targets.map(async (target) => {
      while (performance.now() < end) {
        await target.write(size);
        writes += size;
      }
    }),
  );
  const took = (performance.now() - began) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  return { perSecond: writes / took, clientUs: (user + system) / writes, writes };
}
