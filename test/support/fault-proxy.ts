/**
 * A network that fails, between an HTTP client and its server: it loses, delays and repeats requests, loses their answers,
 * and resets connections in the middle of a body. With `randomFaults`, a seed decides what happens to each request.
 */
import { connect, createServer, type Server, type Socket } from "node:net";
import type { Seeded } from "../seeded.ts";
import { type HttpMessage, HttpMessages } from "./http-messages.ts";

/**
 * What happens to a request.
 *
 * - `pass`: nothing.
 * - `lose_request`: the server never gets it, and the client gets a reset after a while.
 * - `delay_request`: it arrives late, even if the client has gone by then.
 * - `repeat_request`: it arrives, and once more after a while.
 * - `cut_request`: the server gets half of it and then a reset, and the client gets a reset.
 * - `delay_answer`: its answer arrives late.
 * - `lose_answer`: the server performs it, and the client gets a reset after a while.
 * - `cut_answer`: the client gets half of the answer and then a reset.
 */
export const FAULTS = [
  "pass",
  "lose_request",
  "delay_request",
  "repeat_request",
  "cut_request",
  "delay_answer",
  "lose_answer",
  "cut_answer",
] as const;

export type FaultKind = (typeof FAULTS)[number];

export interface Fault {
  kind: FaultKind;
  /** The delay, ms: of the message, or of the reset when a message is lost. */
  ms: number;
}

export type ChooseFault = (requestLine: string) => Fault;

export const NO_FAULT: Fault = { kind: "pass", ms: 0 };

/** Returns a function that gives a request one of `kinds` with `probability`, with a delay of 1 to `maxMs`. */
export const randomFaults =
  (seeded: Seeded, probability: number, maxMs: number, kinds: readonly FaultKind[] = FAULTS.slice(1)): ChooseFault =>
  () =>
    seeded.chance(probability) ? { kind: seeded.pick(kinds), ms: seeded.between(1, maxMs) } : NO_FAULT;

export class FaultProxy implements AsyncDisposable {
  readonly #server: Server;
  readonly #target: { host: string; port: number };
  readonly #open = new Set<Socket>();
  readonly #timers = new Set<Timer>();
  #choose: ChooseFault;
  #isCut = false;
  /** How often each fault happened. */
  readonly counts: Record<FaultKind, number> = Object.fromEntries(FAULTS.map((kind) => [kind, 0])) as never;

  private constructor(server: Server, target: { host: string; port: number }, choose: ChooseFault) {
    this.#server = server;
    this.#target = target;
    this.#choose = choose;
  }

  /** Starts a proxy for the server at `target`, a URL. */
  static async start(target: string, choose: ChooseFault = () => NO_FAULT): Promise<FaultProxy> {
    const { hostname, port } = new URL(target);
    const server = createServer();
    const proxy = new FaultProxy(server, { host: hostname, port: Number(port) }, choose);
    server.on("connection", (client) => proxy.#serve(client));
    const { promise, resolve } = Promise.withResolvers<void>();
    server.listen(0, "127.0.0.1", resolve);
    await promise;
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as { port: number }).port}`;
  }

  /** Sets what happens to requests from now on. */
  set faults(choose: ChooseFault) {
    this.#choose = choose;
  }

  /** Resets all open connections, and each new one until `mend`. Requests that it delays just then still arrive. */
  cut(): void {
    this.#isCut = true;
    for (const socket of this.#open) socket.resetAndDestroy();
  }

  mend(): void {
    this.#isCut = false;
  }

  #serve(client: Socket): void {
    if (this.#isCut) {
      client.resetAndDestroy();
      return;
    }
    this.#keep(client);
    const messages = new HttpMessages();
    client.on("data", (piece) => {
      for (const message of messages.add(piece as Buffer)) this.#meet(client, message);
    });
  }

  #meet(client: Socket, request: HttpMessage): void {
    const fault = this.#choose(request.start);
    this.counts[fault.kind]++;
    if (fault.kind === "lose_request") this.#after(fault.ms, () => client.resetAndDestroy());
    else if (fault.kind === "delay_request") this.#after(fault.ms, () => this.#forward(client, request, fault));
    else this.#forward(client, request, fault);
    if (fault.kind === "repeat_request") this.#after(fault.ms, () => this.#forward(null, request, NO_FAULT));
  }

  /** Sends a request over a connection of its own. `client` is null for a repetition, whose answer is dropped. */
  #forward(client: Socket | null, request: HttpMessage, fault: Fault): void {
    const server = connect(this.#target);
    this.#keep(server);
    const answers = new HttpMessages();
    let isAnswered = false;
    server.on("data", (piece) => {
      for (const answer of answers.add(piece as Buffer)) {
        isAnswered = true;
        server.end();
        if (client !== null) this.#answer(client, answer, fault);
      }
    });
    server.on("close", () => {
      if (!isAnswered) client?.resetAndDestroy();
    });
    if (fault.kind !== "cut_request") server.write(request.bytes);
    else server.write(half(request), () => server.resetAndDestroy());
  }

  #answer(client: Socket, answer: HttpMessage, fault: Fault): void {
    if (fault.kind === "lose_answer") this.#after(fault.ms, () => client.resetAndDestroy());
    else if (fault.kind === "delay_answer") this.#after(fault.ms, () => client.write(answer.bytes));
    else if (fault.kind === "cut_answer") client.write(half(answer), () => client.resetAndDestroy());
    else client.write(answer.bytes);
  }

  #keep(socket: Socket): void {
    socket.setNoDelay(true);
    this.#open.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => this.#open.delete(socket));
  }

  #after(ms: number, work: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      work();
    }, ms);
    this.#timers.add(timer);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    for (const socket of this.#open) socket.destroy();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#server.close(() => resolve());
    await promise;
  }
}

/** Returns a message up to the middle of its body. */
const half = ({ bytes, bodyAt }: HttpMessage): Buffer => bytes.subarray(0, bodyAt + ((bytes.length - bodyAt) >> 1));
