/**
 * Syslog over TLS: messages of RFC 5424, each after its length in octets (RFC 5425 section 4.3). The protocol has no
 * acknowledgements, so only what the connection accepted is known.
 */
import { isIP } from "node:net";
import { hostname } from "node:os";
import { connect, type TLSSocket } from "node:tls";
import { showTime } from "../../ids.ts";
import { endpointOf, SYSLOG_PORT } from "./addresses.ts";
import { linesOf, type Message } from "./batch.ts";
import { type SinkConfig, SinkFailed } from "./config.ts";
import type { Line } from "./lines.ts";
import type { Receiver, ReceiverConnection, ReceiverDeps } from "./receiver.ts";
import { reasonOf, tlsOptions } from "./tls.ts";

/** The number of events that are sent again over each new connection. */
const REPEATS = 100;
/** Messages that a connection accepted within this time before it ended may not have been read, ms. */
const UNREAD_MS = 60_000;
/** How long to wait on a new connection before anything is sent, ms. */
const LISTEN_MS = 250;
/** A connection counts as working when it was open for this long, ms. */
const PROVED_MS = 10_000;

/** The facility "log audit", and severities (RFC 5424 section 6.2.1). */
const LOG_AUDIT = 13;
const WARNING = 4;
const INFORMATIONAL = 6;
/** The longest MSGID and HOSTNAME (RFC 5424 section 6). */
const MAX_MSGID = 32;
const MAX_HOSTNAME = 255;

export class SyslogReceiver implements Receiver, ReceiverConnection {
  readonly repeats = REPEATS;
  readonly #host = headerField(hostname(), MAX_HOSTNAME);
  #socket: TLSSocket | null = null;
  /** When the connection was opened, and when it last accepted something, ms since the Unix epoch. */
  #openedAt = 0;
  #tookAt = Number.NEGATIVE_INFINITY;
  #lost = false;

  constructor(
    private readonly sink: SinkConfig,
    private readonly deps: ReceiverDeps,
  ) {}

  get connection(): ReceiverConnection {
    return this;
  }

  get isOpen(): boolean {
    return this.#socket !== null;
  }

  get isProved(): boolean {
    return this.isOpen && Math.abs(this.deps.clock() - this.#openedAt) >= PROVED_MS;
  }

  takeLoss(): boolean {
    const lost = this.#lost;
    this.#lost = false;
    return lost;
  }

  async send(message: Message, signal: AbortSignal): Promise<null> {
    const { workspaceId } = this.sink;
    const frames = linesOf(message).map((line) => framed(syslogMessage(line, this.#host, workspaceId)));
    const socket = this.#socket ?? (await this.#connect(signal));
    await settled(socket, signal, (done) => socket.write(Buffer.concat(frames), (error) => error || done()));
    this.#tookAt = this.deps.clock();
    return null;
  }

  [Symbol.dispose](): void {
    this.#socket?.end();
    this.#socket = null;
  }

  async #connect(signal: AbortSignal): Promise<TLSSocket> {
    const { allowed, clock } = this.deps;
    const { host, port } = endpointOf(new URL(this.sink.url), SYSLOG_PORT);
    // A socket does not look up an IP address, so an address in the URL is checked here.
    await allowed.addressesOf(host, port);
    const named = isIP(host) === 0 ? { servername: host } : {};
    const socket = connect({ host, port, lookup: allowed.lookupFor(port), ...named, ...tlsOptions(this.sink) });
    await settled(socket, signal, (done) => socket.once("secureConnect", done));
    // In TLS 1.3, a receiver reports a refused client certificate only after the handshake.
    await settled(socket, signal, (done) => void setTimeout(done, LISTEN_MS));
    this.#socket = socket;
    this.#openedAt = clock();
    const gone = () => {
      if (this.#socket !== socket) return;
      this.#socket = null;
      this.#lost = clock() - this.#tookAt < UNREAD_MS;
      socket.destroy();
    };
    // A receiver sends nothing, but it must be read to notice the end of the connection.
    socket
      .on("data", () => {})
      .on("end", gone)
      .on("error", gone)
      .on("close", gone);
    return socket;
  }
}

const CLOSED = new SinkFailed("the receiver closed the connection");

function failed(error: unknown): SinkFailed {
  if (error instanceof SinkFailed) return error;
  const isLate = error instanceof Error && (error.name === "TimeoutError" || error.name === "AbortError");
  return new SinkFailed(isLate ? "the receiver did not take the events in time" : reasonOf(error));
}

/**
 * Resolves when `begin` calls `done`. Closes the connection when it fails before.
 * @throws {SinkFailed}
 */
async function settled(socket: TLSSocket, signal: AbortSignal, begin: (done: () => void) => void): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const fail = (error: unknown) => reject(failed(error));
  const closed = () => reject(CLOSED);
  const aborted = () => fail(signal.reason);
  socket.on("error", fail).on("close", closed);
  signal.addEventListener("abort", aborted, { once: true });
  if (signal.aborted) aborted();
  else if (socket.destroyed) closed();
  else begin(resolve);
  try {
    await promise;
  } catch (error) {
    socket.on("error", () => {}).destroy();
    throw error;
  } finally {
    socket.off("error", fail).off("close", closed);
    signal.removeEventListener("abort", aborted);
  }
}

/** Returns a line as a message of RFC 5424. It is ASCII, so no receiver can mistake its encoding. */
function syslogMessage({ atMs, name, isRefusal, text }: Line, host: string, workspaceId: string): string {
  const priority = LOG_AUDIT * 8 + (isRefusal ? WARNING : INFORMATIONAL);
  const header = `<${priority}>1 ${showTime(atMs)} ${host} governd ${workspaceId} ${headerField(name, MAX_MSGID)} -`;
  return `${header} ${text.replace(/[^\x20-\x7e]/g, escaped)}`;
}

/** Returns a UTF-16 code unit as a JSON escape. */
const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** Returns a text as a field of the header: only its visible ASCII, or `-` if nothing is left. */
const headerField = (text: string, maxLength: number): string =>
  text.replace(/[^\x21-\x7e]/g, "").slice(0, maxLength) || "-";

const framed = (message: string): Buffer => Buffer.from(`${message.length} ${message}`, "latin1");
