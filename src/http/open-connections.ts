/**
 * How many connections a port of this machine has. The runtime does not say, so the kernel is asked, which
 * is done on Linux alone.
 */
import { readdirSync, readFileSync, statSync } from "node:fs";

const DESCRIPTORS = "/proc/self/fd";
/** IPv4 and IPv6: a row for each socket, with addresses and ports in hex, then the state. */
const TABLES = ["/proc/self/net/tcp", "/proc/self/net/tcp6"] as const;
/** ESTABLISHED and CLOSE_WAIT: those that the program still holds. */
const HELD = "(?:01|08)";

/** Whether connections can be counted here. */
export function canCountConnections(): boolean {
  return readTable(TABLES[0]) !== "";
}

/**
 * True when there may be more than this many. Costs next to nothing: it is only asked how many files and
 * sockets the process has open.
 */
export function mayExceed(limit: number): boolean {
  // Since Linux 6.2 the directory's size says how many entries it has; before it was 0.
  const count = statSync(DESCRIPTORS).size || readdirSync(DESCRIPTORS).length;
  return count > limit;
}

/** Connections to a local port, exactly. */
export function countConnections(port: number): number {
  const local = port.toString(16).toUpperCase().padStart(4, "0");
  const row = new RegExp(`: [0-9A-F]+:${local} [0-9A-F]+:[0-9A-F]{4} ${HELD} `, "g");
  return TABLES.reduce((sum, table) => sum + (readTable(table).match(row)?.length ?? 0), 0);
}

/** A table, empty where there is none: another system, or a kernel without that protocol. */
function readTable(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}
