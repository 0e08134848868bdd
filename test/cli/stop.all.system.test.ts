/** The daemon's end: what was begun is answered, what takes too long is cut off, and everything is sealed. */
import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { connect, type TLSSocket } from "node:tls";
import { eventually } from "../eventually.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";
import { governd, makeWorkspace } from "./governd.ts";
import { type RunningDaemon, startGovernd } from "./governd-process.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const MIB = 1024 * 1024;
/** The number of values of 1 MiB that are more than the buffers of both ends hold. */
const LARGE_VALUES = 24;

let temporary: ReturnType<typeof temporaryDirectory>;
let data: string;
let apiKey: string;

beforeEach(async () => {
  temporary = temporaryDirectory();
  data = temporary.join("data");
  apiKey = (await makeWorkspace(data)).api_key;
});
afterEach(() => temporary[Symbol.dispose]());

/** A client that decides byte by byte what it sends and what it reads. */
class SlowClient {
  readonly #socket: TLSSocket;
  text = "";
  /** Resolves when the connection has ended, for whatever reason. */
  readonly closed: Promise<void>;

  private constructor(socket: TLSSocket) {
    this.#socket = socket;
    this.closed = new Promise((resolve) => socket.on("close", () => resolve()));
    socket.on("error", () => {});
    socket.on("data", (bytes) => {
      this.text += bytes.toString("latin1");
    });
  }

  static connect({ url, ready }: RunningDaemon): Promise<SlowClient> {
    const ca = readFileSync(ready.ca_file as string, "utf8");
    return new Promise((resolve, reject) => {
      const socket = connect({ port: Number(new URL(url).port), host: "127.0.0.1", ca });
      socket.once("error", reject);
      socket.once("secureConnect", () => resolve(new SlowClient(socket)));
    });
  }

  /** Resolves when the system has taken the whole text. */
  send(text: string): Promise<void> {
    return new Promise((resolve) => void this.#socket.write(text, () => resolve()));
  }

  /** Resolves when an answer has begun, and stops reading it. */
  onlyBegins(): Promise<void> {
    return new Promise((resolve) =>
      this.#socket.once("data", () => {
        this.#socket.pause();
        resolve();
      }),
    );
  }

  resume(): void {
    this.#socket.resume();
  }
}

const write = (daemon: RunningDaemon, key: string, value: string) =>
  daemon.ask("/v1/data/write", { method: "POST", apiKey, body: JSON.stringify({ agent_id: "a", key, value }) });

const head = (start: string, ...lines: string[]) =>
  [start, "Host: localhost", `X-API-Key: ${apiKey}`, "Content-Type: application/json", ...lines, "", ""].join("\r\n");

/** Resolves when the daemon has read what was sent before: it serves its connections in turn. */
const hasSeen = (daemon: RunningDaemon) => daemon.ask("/healthz");

/** Resolves when the daemon accepts no more connections. */
const refusesConnections = (daemon: RunningDaemon) =>
  eventually("it refuses connections", () =>
    daemon.ask("/healthz").then(
      () => false,
      () => true,
    ),
  );

describe("the end of governd serve", () => {
  test("answers a write that was begun, and takes nothing new", async () => {
    await using daemon = await startGovernd(data);
    const client = await SlowClient.connect(daemon);
    const body = JSON.stringify({ agent_id: "a", key: "begun", value: "before the end" });
    const begin = head("POST /v1/data/write HTTP/1.1", `Content-Length: ${body.length}`);
    await client.send(begin + body.slice(0, 10));
    await hasSeen(daemon);
    daemon.signal("SIGTERM");
    await refusesConnections(daemon);
    await client.send(body.slice(10));
    await client.closed;
    expect(client.text).toStartWith("HTTP/1.1 200");
    expect(client.text).toContain('"allowed":true');
    // It only waits: a second signal would end the daemon at once, with another code.
    expect((await daemon.ended()).code).toBe(0);
    await using next = await startGovernd(data);
    expect((await next.ask("/v1/data/read?agent_id=a&key=begun", { apiKey })).status).toBe(200);
  });

  test("cuts off an answer that nobody reads, in time", async () => {
    await using daemon = await startGovernd(data);
    const value = "x".repeat(MIB - 1);
    for (let i = 0; i < LARGE_VALUES; i++) expect((await write(daemon, `k${i}`, value)).status).toBe(200);
    const made = await daemon.ask("/v1/checkpoints", {
      method: "POST",
      apiKey,
      body: JSON.stringify({ agent_id: "a", label: "large" }),
    });
    const { id } = (await made.json()) as { id: string };
    const client = await SlowClient.connect(daemon);
    const begun = client.onlyBegins();
    await client.send(head(`GET /v1/checkpoints/${id} HTTP/1.1`));
    await begun;
    // The exit code would be another if it took more than its ten seconds.
    const { code, err } = await daemon.stop();
    expect({ code, troubled: err.includes('"level":"error"') }).toEqual({ code: 0, troubled: false });
    client.resume();
    await client.closed;
    expect(client.text.length).toBeLessThan(LARGE_VALUES * MIB);
  });

  test("comes at once after a second signal", async () => {
    await using daemon = await startGovernd(data);
    const client = await SlowClient.connect(daemon);
    await client.send(`${head("POST /v1/data/write HTTP/1.1", "Content-Length: 100")}{`);
    await hasSeen(daemon);
    daemon.signal("SIGTERM");
    await eventually("it stops", () => daemon.said().includes('"message":"stopping"'));
    // Without a pause, it would count as the same signal, sent twice.
    await Bun.sleep(400);
    const { code, err } = await daemon.stop("SIGTERM");
    expect({ code, because: err.includes('"because":"second signal"') }).toEqual({ code: 2, because: true });
  });

  test("is one end when the same signal comes twice, as from a terminal through a wrapper", async () => {
    await using daemon = await startGovernd(data);
    daemon.signal("SIGINT");
    const { code, err } = await daemon.stop("SIGINT");
    expect({ code, cut: err.includes("cut off") }).toEqual({ code: 0, cut: false });
  });

  test("ends the live stream, and leaves no event without a seal", async () => {
    await using daemon = await startGovernd(data, ["--seal-interval", "1d"]);
    const client = await SlowClient.connect(daemon);
    await client.send(head("GET /v1/audit/stream?scope=workspace HTTP/1.1"));
    await eventually("the stream begins", () => client.text.includes("text/event-stream"));
    expect((await write(daemon, "k", "v")).status).toBe(200);
    expect((await daemon.stop()).code).toBe(0);
    await client.closed;
    // The stream ended with its last chunk, so it was not cut off.
    expect(client.text).toEndWith("0\r\n\r\n");
    const verified = await governd(["verify", data]);
    expect(verified.code).toBe(0);
    expect(verified.out).toMatch(/sealed: 0 to \d+; unsealed: none/);
  });
});
