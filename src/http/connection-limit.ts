/**
 * A bound on open connections. The runtime has none, so it is looked once a second: past the bound the
 * port is closed until there is room again, and connections that are idle are closed with it.
 */
import { countConnections, mayExceed } from "./open-connections.ts";

const LOOK_EVERY_MS = 1_000;
/** The port is opened again when fewer than this part of the bound is left. */
const ROOM_PART = 0.9;

/** A port that can be closed for a while; what was accepted stays open until it is answered. */
export interface Gate {
  readonly port: number;
  close(): void;
  /** @throws what opening a port throws */
  open(): void;
}

export interface ConnectionLimitOptions {
  maxConnections: number;
  /** Told when nothing more is accepted, and when that is over. */
  onFull(connections: number): void;
  onRoom(): void;
  /** The port could not be opened again; it is tried at every look. */
  onTrouble(error: unknown): void;
}

export class ConnectionLimit implements Disposable {
  readonly #gate: Gate;
  readonly #options: ConnectionLimitOptions;
  readonly #timer: NodeJS.Timeout;
  #closed = false;

  constructor(gate: Gate, options: ConnectionLimitOptions) {
    this.#gate = gate;
    this.#options = options;
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS).unref();
  }

  #look(): void {
    const { maxConnections, onFull } = this.#options;
    if (this.#closed) {
      this.#reopen(maxConnections * ROOM_PART);
      return;
    }
    if (!mayExceed(maxConnections)) return;
    const connections = countConnections(this.#gate.port);
    if (connections <= maxConnections) return;
    this.#closed = true;
    this.#gate.close();
    onFull(connections);
  }

  #reopen(room: number): void {
    if (countConnections(this.#gate.port) >= room) return;
    try {
      this.#gate.open();
    } catch (error) {
      this.#options.onTrouble(error);
      return;
    }
    this.#closed = false;
    this.#options.onRoom();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}
