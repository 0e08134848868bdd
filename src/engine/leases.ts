/**
 * Leases in the control namespace: which node serves which workspace. They say where to send requests and nothing else:
 * whether a write counts, the guard of its commit decides. Time is the server's, so that the clocks of nodes do not matter.
 */
import { RandomPool } from "../ids.ts";
import { query } from "./hrana.ts";
import type { Namespace } from "./namespace.ts";

/** How long a lease lasts, ms. */
export const LEASE_MS = 10_000;

const TABLE = "governd_leases";
const CREATE = `CREATE TABLE IF NOT EXISTS ${TABLE} (
  name   TEXT    PRIMARY KEY,
  node   TEXT    NOT NULL,
  url    TEXT,
  epoch  INTEGER NOT NULL,
  until  INTEGER NOT NULL
) STRICT`;

/** Before the name of a node. */
const NODE = "node:";

/** The server's clock, ms since the Unix epoch. */
const NOW = "CAST(unixepoch('subsec') * 1000 AS INTEGER)";

interface Lease {
  /** Whether this node has it. */
  isOwn: boolean;
  /** Where the node that has it takes requests; null for a process that takes none. */
  url: string | null;
  /** How long it lasts from now on, ms; by the clock of the server. */
  leftMs: number;
  /** How often it changed hands. */
  epoch: number;
}

export class Leases {
  /** Names this process among all that take leases. */
  readonly node = new RandomPool().take(12).toHex();
  /** Where this node takes requests of other nodes. */
  url: string | null = null;

  constructor(private readonly namespace: Namespace) {}

  async create(): Promise<void> {
    await this.namespace.write([{ sql: CREATE }]);
  }

  /** Takes or renews a lease, unless another node has it. Returns the lease as it is then. @throws {ServerUnavailable} */
  async take(name: string): Promise<Lease> {
    const take = `INSERT INTO ${TABLE} (name, node, url, epoch, until) VALUES (?1, ?2, ?3, 1, ${NOW} + ?4)
      ON CONFLICT (name) DO UPDATE SET node = excluded.node, url = excluded.url, until = excluded.until,
        epoch = epoch + (node <> excluded.node)
      WHERE node = excluded.node OR until < ${NOW}`;
    const look = `SELECT node, url, until - ${NOW}, epoch FROM ${TABLE} WHERE name = ?`;
    const [, [row] = []] = await this.namespace.write([
      query(take, name, this.node, this.url, LEASE_MS),
      query(look, name),
    ]);
    const [node, url, leftMs, epoch] = row as [string, string | null, number, number];
    return { isOwn: node === this.node, url, leftMs, epoch };
  }

  /** Renews those of the leases that this node still has, and returns their names. @throws {ServerUnavailable} */
  async renew(names: readonly string[]): Promise<string[]> {
    const sql = `UPDATE ${TABLE} SET until = ${NOW} + ? WHERE node = ? AND name IN (SELECT value FROM json_each(?))
      RETURNING name`;
    const [rows = []] = await this.namespace.write([query(sql, LEASE_MS, this.node, JSON.stringify(names))]);
    return rows.map(([name]) => name as string);
  }

  /** Returns the addresses of the other nodes that are alive. */
  async otherNodes(): Promise<string[]> {
    const sql = `SELECT url FROM ${TABLE} WHERE name >= '${NODE}' AND name < '${NODE}~' AND node <> ? AND until > ${NOW} AND url IS NOT NULL`;
    const [rows = []] = await this.namespace.read([query(sql, this.node)]);
    return rows.map(([url]) => url as string);
  }

  /** The lease by which this node is known to be alive. */
  get ofNode(): string {
    return NODE + this.node;
  }

  /** Ends all leases of a node that is known to have ended. */
  async endOf(node: string): Promise<void> {
    await this.namespace.write([query(`DELETE FROM ${TABLE} WHERE node = ?`, node)]);
  }

  /** Gives up leases, so that other nodes can take them at once. */
  async giveUp(...names: string[]): Promise<void> {
    const sql = `DELETE FROM ${TABLE} WHERE node = ? AND name IN (SELECT value FROM json_each(?))`;
    await this.namespace.write([query(sql, this.node, JSON.stringify(names))]);
  }
}
