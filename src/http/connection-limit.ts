/**
 * A limit of open connections. The runtime has none and does not count them, so the kernel is asked once a second.
 * Above the limit the port and idle connections are closed until there is room again.
 */
import { readdirSync, readFileSync, statSync } from "node:fs";

const CHECK_EVERY_MS = 1_000;
/** The port opens again when fewer connections than this part of the limit are left. */
const ROOM_PART = 0.9;

/** A port that can be closed for a while. Accepted requests still get their responses. */
export interface Gate {
  readonly port: number;
  close(): void;
  /** @throws what opening a port throws */
  open(): void;
}

export interface ConnectionLimitOptions {
  maxConnections: number;
  /** Called when the port closes, and when it opens again. */
  onFull(connections: number): void;
  onRoom(): void;
  /** Called when the port could not be opened again. The next check retries. */
  onTrouble(error: unknown): void;
}

export class ConnectionLimit implements Disposable {
  readonly #timer = setInterval(() => this.#check(), CHECK_EVERY_MS).unref();
  #closed = false;

  constructor(
    private readonly gate: Gate,
    private readonly options: ConnectionLimitOptions,
  ) {}

  #check(): void {
    const { maxConnections, onFull } = this.options;
    if (this.#closed) {
      this.#reopen(maxConnections * ROOM_PART);
      return;
    }
    if (!mayExceed(maxConnections)) return;
    const connections = countConnections(this.gate.port);
    if (connections <= maxConnections) return;
    this.#closed = true;
    this.gate.close();
    onFull(connections);
  }

  #reopen(room: number): void {
    if (countConnections(this.gate.port) >= room) return;
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
  }
}

const DESCRIPTORS = "/proc/self/fd";
/** IPv4 and IPv6: one row per socket with addresses and ports in hex, then the state. */
const TABLES = ["/proc/self/net/tcp", "/proc/self/net/tcp6"] as const;
/** ESTABLISHED and CLOSE_WAIT: the states of connections that the program still holds. */
const HELD = "(?:01|08)";

/** Reports whether connections can be counted on this system, which needs Linux. */
export const canCountConnections = (): boolean => readTable(TABLES[0]) !== "";

/** Reports cheaply whether there may be more connections than this, from the number of open files. */
function mayExceed(limit: number): boolean {
  // Since Linux 6.2 the size of this directory is its number of entries; before, it was 0.
  const count = statSync(DESCRIPTORS).size || readdirSync(DESCRIPTORS).length;
  return count > limit;
}

/** Counts the connections to a local port. */
export function countConnections(port: number): number {
  const local = port.toString(16).toUpperCase().padStart(4, "0");
  const row = new RegExp(`: [0-9A-F]+:${local} [0-9A-F]+:[0-9A-F]{4} ${HELD} `, "g");
  return TABLES.reduce((sum, table) => sum + (readTable(table).match(row)?.length ?? 0), 0);
}

/** Returns a table, empty on another system or without that protocol. */
function readTable(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}
