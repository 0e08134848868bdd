/**
 * Leases say which node serves which workspace. They only route requests: the guard of a
 * commit decides whether a write counts. Expiry is by the server's clock, so the clocks of nodes do not matter.
 */
import { RandomPool } from "../ids.ts";
import type { Namespace } from "./namespace.ts";
import { query } from "./server.ts";

/** How long a lease lasts, ms. */
export const LEASE_MS = 10_000;

const TABLE = "governd_leases";
/** Makes the table of leases. */
export const CREATE_LEASES = `CREATE TABLE IF NOT EXISTS ${TABLE} (
  name   TEXT    PRIMARY KEY,
  node   TEXT    NOT NULL,
  url    TEXT,
  epoch  INTEGER NOT NULL,
  until  INTEGER NOT NULL
) STRICT`;

/** The prefix of the names of leases by which nodes are known to be alive. */
const NODE = "node:";

/** The server's clock, ms since the Unix epoch. */
const NOW = "CAST(unixepoch('subsec') * 1000 AS INTEGER)";

interface Lease {
  /** Whether this node holds the lease. */
  isOwn: boolean;
  /** The address at which its holder takes requests; null for a process that takes none. */
  url: string | null;
  /** The remaining time, ms, by the server's clock. */
  leftMs: number;
  /** Rises by one whenever another node takes the lease; starts at 1. */
  epoch: number;
}

export class Leases {
  /** A random name for this process, unique among the holders of leases. */
  readonly node = new RandomPool().take(12).toHex();
  /** The address at which this node takes requests of other nodes; null when it takes none. */
  url: string | null = null;

  constructor(private readonly namespace: Namespace) {}

  /**
   * Takes or renews a lease, unless another node holds it. Returns the resulting lease. @throws {ServerUnavailable}
   */
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

  /** Renews the leases that this node still holds, and returns their names. @throws {ServerUnavailable} */
  async renew(names: readonly string[]): Promise<string[]> {
    const sql = `UPDATE ${TABLE} SET until = ${NOW} + ? WHERE node = ? AND name IN (SELECT value FROM json_each(?))
      RETURNING name`;
    const [rows = []] = await this.namespace.write([query(sql, LEASE_MS, this.node, JSON.stringify(names))]);
    return rows.map(([name]) => name as string);
  }

  /** Returns the addresses of the other nodes whose leases have not expired. @throws {ServerUnavailable} */
  async otherNodes(): Promise<string[]> {
    const sql = `SELECT url FROM ${TABLE} WHERE name >= '${NODE}' AND name < '${NODE}~' AND node <> ? AND until > ${NOW} AND url IS NOT NULL`;
    const [rows = []] = await this.namespace.read([query(sql, this.node)]);
    return rows.map(([url]) => url as string);
  }

  /** The name of the lease by which this node is known to be alive. */
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
