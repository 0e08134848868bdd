/**
 * Clients that would keep a connection for ever. Real ones on real sockets: most of these bounds are the
 * runtime's, and a newer one could lose them. They run side by side, since each takes its time.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { eventually } from "../eventually.ts";
import { PROCESS_TEST_MS } from "../patience.ts";
import { serveTls, type TestServer } from "./support/serve.ts";
import { HEAD, slowClient } from "./support/slow-client.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const IDLE_MS = 5_000;
/** The runtime looks every four seconds. */
const GRANULARITY_MS = 4_500;
const BODY_MS = 1_500;

let server: TestServer;
beforeAll(async () => {
  server = await serveTls({ bodyTimeoutMs: BODY_MS }, { idleTimeoutMs: IDLE_MS });
});
afterAll(() => server[Symbol.asyncDispose]());

const port = () => server.running.port;
const post = (length: string) =>
  `POST /v1/data/write HTTP/1.1\r\n${HEAD}Content-Type: application/json\r\n${length}\r\n\r\n`;

describe.concurrent("slow clients are cut", () => {
  test("one that never shakes hands", async () => {
    using client = await slowClient(port(), { handshake: false });
    await client.cut();
  });

  test("one that never asks for anything", async () => {
    using client = await slowClient(port());
    await client.cut();
  });

  test("one whose headers drip", async () => {
    using client = await slowClient(port(), { begin: `GET /v1/config/a HTTP/1.1\r\n${HEAD}` });
    client.drip("X-More: and more\r\n", 500);
    await client.cut();
    expect(client.received).toBe("");
  });

  test("one whose second request drips", async () => {
    using client = await slowClient(port(), { begin: `GET /v1/config/a HTTP/1.1\r\n${HEAD}\r\n` });
    await eventually("the first is answered", () => client.received.startsWith("HTTP/1.1 200"));
    client.send(`GET /v1/config/a HTTP/1.1\r\n${HEAD}`);
    client.drip("X-More: and more\r\n", 500);
    await client.cut();
  });

  test("one that stays after its answer", async () => {
    using client = await slowClient(port(), { begin: `GET /v1/config/a HTTP/1.1\r\n${HEAD}\r\n` });
    await client.cut();
  });

  test("one whose small body drips", async () => {
    using client = await slowClient(port(), { begin: post("Content-Length: 1000") });
    client.drip("x", 250);
    await client.cut();
  });

  test("one with a slowly dripping large body gets a problem", async () => {
    using client = await slowClient(port(), { begin: post("Content-Length: 1000000") });
    client.drip("x", 100);
    await client.cut();
    expect(client.received).toStartWith("HTTP/1.1 408");
    expect(client.received).toContain('"code":"request_timeout"');
  });

  test("one whose large body arrives steadily, but too slowly, gets a problem", async () => {
    using client = await slowClient(port(), { begin: post("Content-Length: 2000000") });
    client.drip("x".repeat(20_000), 100);
    await client.cut();
    expect(client.received).toStartWith("HTTP/1.1 408");
  });

  test.each(["", "Connection: close\r\n"])("one that goes on sending after its refusal (%p)", async (connection) => {
    const begin = `POST /v1/nothing HTTP/1.1\r\n${HEAD}${connection}Content-Length: 1000000000000\r\n\r\n`;
    using client = await slowClient(port(), { begin });
    client.drip("x".repeat(200_000), 20);
    await client.cut();
    expect(client.received).toStartWith("HTTP/1.1 404");
  });

  test.each(["", "Connection: close\r\n"])("one that is refused and reads nothing (%p)", async (connection) => {
    const begin = `POST /v1/nothing HTTP/1.1\r\n${HEAD}${connection}Content-Length: 1000000000000\r\n\r\n`;
    using client = await slowClient(port(), { begin });
    client.pause();
    client.drip("x".repeat(200_000), 20);
    await eventually("it is refused", () => server.logged.some(({ status }) => status === 404));
    await client.cut();
  });

  test("one whose body has no length gets a problem", async () => {
    using client = await slowClient(port(), { begin: post("Transfer-Encoding: chunked") });
    client.drip("1\r\nx\r\n", 100);
    await client.cut();
    expect(client.received).toStartWith("HTTP/1.1 408");
  });

  test("one that never reads a long answer", async () => {
    let cancelled = false;
    let pieces = 0;
    await using streaming = await serveTls({}, { idleTimeoutMs: IDLE_MS });
    streaming.workspace.next = {
      kind: "stream",
      contentType: "application/x-ndjson",
      body: new ReadableStream<Uint8Array>(
        {
          pull(controller) {
            pieces++;
            controller.enqueue(new Uint8Array(65_536));
          },
          cancel() {
            cancelled = true;
          },
        },
        { highWaterMark: 0 },
      ),
    };
    using client = await slowClient(streaming.running.port, {
      begin: `POST /v1/audit/export HTTP/1.1\r\n${HEAD}Content-Type: application/json\r\nContent-Length: 16\r\n\r\n{"agent_id":"a"}`,
    });
    client.pause();
    await eventually("it is cut", () => cancelled);
    // Nothing was fetched ahead of what the connection takes.
    expect(pieces).toBeLessThan(500);
  });
});

test("one that is refused, closes its connection and is silent before its body has time to send it", async () => {
  const begin = `POST /v1/nothing HTTP/1.1\r\n${HEAD}Connection: close\r\nContent-Length: 1000\r\n\r\n`;
  using client = await slowClient(port(), { begin });
  await eventually("it has the refusal", () => client.received.includes('"not_found"'));
  const end = "\r\n0\r\n\r\n";
  await Bun.sleep(2_000);
  expect(client.received).not.toEndWith(end);
  client.send("x".repeat(1_000));
  await client.cut();
  expect(client.received).toEndWith(end);
});

describe.concurrent("a client that waits for the daemon is not disconnected", () => {
  test("while it searches", async () => {
    const slow = await serveTls({}, { idleTimeoutMs: IDLE_MS });
    await using _ = slow;
    const perform = slow.workspace.perform.bind(slow.workspace);
    slow.workspace.perform = async (request) => {
      await Bun.sleep(IDLE_MS + GRANULARITY_MS + 1_000);
      return perform(request);
    };
    using client = await slowClient(slow.running.port, { begin: `GET /v1/audit?agent_id=a HTTP/1.1\r\n${HEAD}\r\n` });
    await eventually("it is answered", () => client.received.startsWith("HTTP/1.1 200"));
    // Afterwards it is a connection like any other.
    await client.cut();
  });
});

test("headers past 16 KiB, and more than 190 of them, are refused by the runtime", async () => {
  for (const more of [`X-Long: ${"x".repeat(17_000)}\r\n`, "X-Many: x\r\n".repeat(201)]) {
    using client = await slowClient(port(), { begin: `GET /v1/config/a HTTP/1.1\r\n${HEAD}${more}\r\n` });
    await client.cut();
    expect(client.received).toStartWith("HTTP/1.1 431");
  }
});
