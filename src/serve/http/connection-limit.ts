/**
 * Limits open connections, in total and of each address. The runtime has no limit and does not count them, so the
 * kernel's tables are read once a second. Above the total limit, or when no file descriptor is left, the port and idle
 * connections are closed until there is room again. The runtime cannot close a single connection, so connections of an
 * address above its limit are closed with their next response, and idle ones at their timeout.
 */
import { accessSync, constants, openSync, readdirSync, readSync, statSync } from "node:fs";
import { networkOf } from "../../core/cell-rate.ts";
import type { DescriptorReserve } from "./descriptor-reserve.ts";

const CHECK_EVERY_MS = 1_000;
/** The port opens again when fewer connections than this part of the limit are left. */
const ROOM_PART = 0.9;

/** A port that can be closed for a while. Accepted requests still get their responses. */
interface Gate {
  readonly port: number;
  close(): void;
  /** @throws what opening a port throws */
  open(): void;
}

export interface ConnectionLimitOptions {
  maxConnections: number;
  /** The reserve of descriptors. The port is closed when it must be released. */
  reserve: DescriptorReserve;
  /** Called when the port closes, and when it opens again. */
  onFull(connections: number): void;
  onRoom(): void;
  /** Called when the port could not be opened again. The next check retries. */
  onTrouble(error: unknown): void;
}

export class ConnectionLimit implements Disposable {
  readonly #timer = setInterval(() => this.#check(), CHECK_EVERY_MS).unref();
  readonly #endGuard: () => void;
  #closed = false;

  constructor(
    private readonly gate: Gate,
    private readonly options: ConnectionLimitOptions,
  ) {
    countConnections(gate.port); // opens the tables, while there are descriptors
    this.#endGuard = options.reserve.guard(() => {
      if (!this.#closed) this.#close(countConnections(gate.port));
    });
  }

  #check(): void {
    const { maxConnections } = this.options;
    if (this.#closed) {
      this.#reopen(maxConnections * ROOM_PART);
      return;
    }
    if (!mayExceed(maxConnections)) return;
    const connections = countConnections(this.gate.port);
    if (connections > maxConnections) this.#close(connections);
  }

  #close(connections: number): void {
    this.#closed = true;
    this.gate.close();
    this.options.onFull(connections);
  }

  #reopen(room: number): void {
    const connections = countConnections(this.gate.port);
    // Without any connection, the port has not taken what the reserve lacks.
    if (connections >= room || (connections > 0 && !this.options.reserve.isWhole)) return;
    try {
      this.gate.open();
    } catch (error) {
      this.options.onTrouble(error);
      return;
    }
    this.#closed = false;
    this.options.onRoom();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#endGuard();
  }
}

export interface AddressLimitOptions {
  /** The most connections of one address. */
  most: number;
  /** Whether connections of an address are not counted. */
  isExempt(address: string): boolean;
  /** Called when an address newly exceeds the limit. */
  onCrowded(network: string, connections: number): void;
}

/** Determines which addresses have too many connections. An IPv6 network of /64 counts as one address. */
export class AddressConnections implements Disposable {
  readonly #timer = setInterval(() => this.check(), CHECK_EVERY_MS).unref();
  #crowded: ReadonlySet<string> = new Set();

  constructor(
    private readonly port: () => number,
    private readonly options: AddressLimitOptions,
  ) {}

  /** `peer` is called only if any address has too many, since the runtime takes a microsecond to return an address. */
  isCrowded(peer: () => string): boolean {
    return this.#crowded.size > 0 && this.#crowded.has(networkOf(peer()));
  }

  /** Counts the connections. Runs every second. */
  check(): void {
    const { most, isExempt, onCrowded } = this.options;
    const counts = mayExceed(most) ? countByNetwork(peersOf(this.port()).filter((peer) => !isExempt(peer))) : [];
    const crowded = [...counts].filter(([, count]) => count > most);
    for (const [network, count] of crowded) if (!this.#crowded.has(network)) onCrowded(network, count);
    this.#crowded = new Set(crowded.map(([network]) => network));
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

function countByNetwork(peers: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const network of peers.map(networkOf)) counts.set(network, (counts.get(network) ?? 0) + 1);
  return counts;
}

const DESCRIPTORS = "/proc/self/fd";
/** IPv4 and IPv6: one row per socket with addresses and ports in hex, then the state. */
const TABLES = ["/proc/self/net/tcp", "/proc/self/net/tcp6"] as const;
/** ESTABLISHED and CLOSE_WAIT: the states of connections that the process has open. */
const HELD = "(?:01|08)";

/** Reports whether connections can be counted on this system, which needs Linux. */
export function canCountConnections(): boolean {
  try {
    accessSync(TABLES[0], constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

/** Reports cheaply whether there may be more connections than this, from the number of open files. */
function mayExceed(limit: number): boolean {
  // Since Linux 6.2 the size of this directory is its number of entries; before, it was 0.
  return (statSync(DESCRIPTORS).size || entriesOf(DESCRIPTORS)) > limit;
}

/** Returns the number of entries; infinite when there is no descriptor left to read the directory. */
function entriesOf(directory: string): number {
  try {
    return readdirSync(directory).length;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/** Counts the connections to a local port. */
export const countConnections = (port: number): number =>
  TABLES.reduce((sum, table) => sum + rowsIn(readTable(table), port).size, 0);

/** Returns the address of the peer of each connection to a local port. */
const peersOf = (port: number): string[] => TABLES.flatMap((table) => peersIn(readTable(table), port));

/** Returns the peers of the connections to a local port in the text of a table of the kernel. */
export const peersIn = (table: string, port: number): string[] => [...rowsIn(table, port).values()].map(addressOf);

/**
 * Returns the peer of each connection to a local port, by the part of its row that tells it from others. The kernel
 * lists a connection twice when others come and go between two reads of the table.
 */
function rowsIn(table: string, port: number): Map<string, string> {
  const local = port.toString(16).toUpperCase().padStart(4, "0");
  const rows = new RegExp(`: ([0-9A-F]+:${local} ([0-9A-F]+):[0-9A-F]{4}) ${HELD} `, "g");
  return new Map(Array.from(table.matchAll(rows), ([, ends, peer]) => [ends as string, peer as string]));
}

/**
 * Returns an address that the kernel shows as 32-bit words in the order of this machine's bytes, which is
 * little-endian.
 */
function addressOf(hex: string): string {
  const bytes = Buffer.from(hex, "hex").swap32();
  const isMapped = bytes.length === 16 && bytes.subarray(0, 12).toString("hex") === `${"0".repeat(20)}ffff`;
  if (bytes.length === 4 || isMapped) return bytes.subarray(-4).join(".");
  return Array.from({ length: 8 }, (_, at) => bytes.readUInt16BE(2 * at).toString(16)).join(":");
}

/** The open tables. They are kept open, since they are most needed when no descriptor is left. */
const open = new Map<string, number>();
const CHUNK_BYTES = 64 * 1024;

/** Returns a table, empty on another system or without that protocol. */
function readTable(path: string): string {
  try {
    const descriptor = open.getOrInsertComputed(path, () => openSync(path, "r"));
    const chunk = Buffer.alloc(CHUNK_BYTES);
    let text = "";
    for (let at = 0; ; ) {
      const length = readSync(descriptor, chunk, 0, CHUNK_BYTES, at);
      if (length === 0) return text;
      text += chunk.toString("latin1", 0, length);
      at += length;
    }
  } catch {
    return "";
  }
}
