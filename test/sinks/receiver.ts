/** A receiver of webhooks as tests have it: over TLS on this machine, with a memory of what it took. */
import { once } from "node:events";
import type { IncomingHttpHeaders } from "node:http";
import { createServer, type Server, type ServerOptions } from "node:https";
import type { AddressInfo } from "node:net";
import { makeCertificate } from "../http/support/certificate.ts";

/** One request that the receiver took. */
export interface Taken {
  headers: Record<string, string>;
  body: string;
}

/** What an event or a record has, as far as tests look at it. */
interface SeenLine {
  type?: string;
  id?: string;
  seq?: number;
  position?: number;
  [member: string]: unknown;
}

/**
 * What becomes of a request: a status, after which the receiver has taken the body if it is 2xx; or it takes the body and
 * dies before it answers; or it takes its time; or it never answers.
 */
type Outcome = number | "dies" | "slow" | "waits" | { status: number; headers: Record<string, string>; body?: string };

/** How long a slow receiver takes, ms. */
const SLOW_MS = 300;

export class TestReceiver implements AsyncDisposable {
  /** What it took, in order. */
  readonly taken: Taken[] = [];
  requests = 0;

  private constructor(
    readonly ca: string,
    private readonly server: Server,
  ) {}

  /**
   * `outcome` decides what becomes of the request with a number from 1 on; all are taken when it is absent. `more`: what
   * else its TLS asks for.
   */
  static async start(
    outcome: (number: number) => Outcome = () => 200,
    more: ServerOptions = {},
  ): Promise<TestReceiver> {
    const { key, cert } = await makeCertificate();
    const server = createServer({ key, cert, ...more });
    const receiver = new TestReceiver(cert, server);
    server.on("request", async (request, response) => {
      receiver.requests += 1;
      const what = outcome(receiver.requests);
      let body = "";
      try {
        for await (const piece of request.setEncoding("utf8")) body += piece;
      } catch {
        return; // the daemon was killed before the body was complete
      }
      const { status, headers, body: answer = "" } = typeof what === "object" ? what : { status: what, headers: {} };
      const isTaken = status === "dies" || status === "slow" || (typeof status === "number" && status < 300);
      if (isTaken) receiver.taken.push({ headers: textsOf(request.headers), body });
      if (status === "dies") request.socket.destroy();
      else if (status === "slow") setTimeout(() => response.writeHead(200).end(), SLOW_MS);
      else if (status !== "waits") response.writeHead(status, headers).end(answer);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return receiver;
  }

  get url(): string {
    return `https://127.0.0.1:${(this.server.address() as AddressInfo).port}/in?key=confidential`;
  }

  /** The lines of everything that it took. */
  get lines(): SeenLine[] {
    return this.taken.flatMap(({ headers, body }) => {
      if (headers["content-type"] === "application/cloudevents-batch+json") return JSON.parse(body) as SeenLine[];
      return body
        .trimEnd()
        .split("\n")
        .map((text) => JSON.parse(text) as SeenLine);
    });
  }

  /** The events that it took, in order and without repetitions. */
  get events(): SeenLine[] {
    return [...new Map(this.lines.filter(({ seq }) => seq !== undefined).map((event) => [event.id, event])).values()];
  }

  /** The last position that it knows of. */
  get position(): number {
    return this.lines.findLast(({ type }) => type === "position")?.position ?? -1;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
  }
}

const textsOf = (headers: IncomingHttpHeaders): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
