/**
 * A refusal reaches a client that is still sending its body, whichever client that is: clients that people use, against
 * a real daemon.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { effort } from "../effort.ts";
import { ended } from "../ended.ts";
import { eventually } from "../eventually.ts";
import { SEED } from "../seed.ts";
import { TestDaemon } from "../support/daemon.ts";
import { LIBSQL_SERVER } from "../support/libsql-server.ts";
import { type TemporaryDirectory, temporaryDirectory } from "../temporary.ts";
import { slowClient } from "./support/slow-client.ts";

const TRIES = effort({ usual: 1, long: 8 });
/** One in so many of the refusals is sent by each client in each way, others in each run. */
const EVERY = effort({ usual: 3, long: 1 });
/** More than the buffers of the system and of the clients hold. */
const LARGE = 12_000_000;
const JSON_TYPE = "application/json";

interface Refusal {
  status: number;
  method: string;
  path: string;
  key: "valid" | "wrong" | "none";
  type: string;
  size: number;
  /** The port that is asked: of the API, of the API behind a TLS proxy, of the metrics, or of a node that forwards. */
  port: "api" | "proxied" | "metrics" | "node";
}

const refusal = (
  status: number,
  at: string,
  { key = "valid", type = JSON_TYPE, size = LARGE, port = "api" }: Partial<Refusal> = {},
): Refusal => {
  const [method, path] = at.split(" ") as [string, string];
  return { status, method, path, key, type, size, port };
};

const REFUSALS: readonly Refusal[] = [
  refusal(413, "POST /v1/data/write", { size: 5_000_000 }),
  refusal(413, "POST /v1/data/batch", { size: 20_000_000 }),
  refusal(401, "POST /v1/data/batch", { key: "wrong" }),
  refusal(401, "PUT /v1/config/a", { key: "none" }),
  refusal(404, "POST /v1/nothing"),
  refusal(404, "POST /nothing", { key: "none" }),
  refusal(405, "PATCH /v1/data/write"),
  refusal(415, "POST /v1/data/write", { type: "text/plain" }),
  refusal(401, "POST /v1/mcp", { key: "wrong" }),
  refusal(413, "POST /v1/mcp/agents/a", { size: 5_000_000 }),
  refusal(401, "POST /account/workspaces", { key: "none" }),
  refusal(401, "POST /v1/data/batch", { key: "wrong", port: "proxied" }),
  refusal(403, "POST /account/sign-in", { key: "none", port: "proxied" }),
  refusal(405, "POST /metrics", { key: "none", port: "metrics" }),
  refusal(404, "PUT /other", { key: "none", port: "metrics" }),
];

/** Refusals by the node that serves the workspace, to which another one forwards the request. */
const FORWARDED: readonly Refusal[] = [
  refusal(413, "POST /v1/data/write", { size: 5_000_000, port: "node" }),
  refusal(413, "POST /v1/data/batch", { size: 20_000_000, port: "node" }),
  refusal(404, "POST /v1/nothing", { port: "node" }),
  refusal(405, "PATCH /v1/data/write", { port: "node" }),
  refusal(415, "PUT /v1/config/a", { type: "text/plain", port: "node" }),
  refusal(413, "POST /v1/mcp/agents/a", { size: 5_000_000, port: "node" }),
];

/** A refused request as one client sends it. */
interface ClientRequest extends Refusal {
  client: string;
  isChunked: boolean;
  /** Whether the request closes its connection. */
  isLast: boolean;
  expects: boolean;
}

let daemon: TestDaemon;
let proxied: TestDaemon;
let nodes: [serving: TestDaemon, forwarding: TestDaemon] | undefined;
let apiKey: string;
let nodeKey: string;
let folder: TemporaryDirectory;
beforeAll(async () => {
  daemon = await TestDaemon.start({ flags: { metrics_listen: "127.0.0.1:0", auth_failure_limit: "0" } });
  proxied = await TestDaemon.start({ flags: { tls: "off", trusted_proxies: "127.0.0.1", auth_failure_limit: "0" } });
  apiKey = (await daemon.workspace()).client.apiKey;
  folder = temporaryDirectory();
  if (LIBSQL_SERVER !== null) {
    const serving = await TestDaemon.start({ engine: "libsql-server" });
    nodes = [serving, await serving.anotherNode({ idle_timeout: "5s" })];
    const { client } = await serving.workspace();
    expect((await client.post("/v1/data/write", { agent_id: "a", key: "k", value: "v" })).status).toBe(200);
    nodeKey = client.apiKey;
  }
  writeFileSync(join(folder.path, "ca.crt"), [daemon, ...(nodes ?? [])].map(({ ca }) => ca).join("\n"));
});
afterAll(async () => {
  for (const node of nodes?.toReversed() ?? []) await node[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
  await proxied[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

const inFolder = (name: string) => join(folder.path, name);

function urlOf({ port, path }: Refusal): string {
  const urls = {
    api: daemon.url,
    proxied: proxied.url.replace("https:", "http:"),
    metrics: daemon.metricsUrl ?? "",
    node: nodes?.[1].url ?? "",
  };
  return new URL(path, urls[port].replace("127.0.0.1", "localhost")).href;
}

function headersOf({ port, key, type, expects }: ClientRequest): Record<string, string> {
  const headers: Record<string, string> = { "content-type": type };
  if (port === "proxied") headers["x-forwarded-proto"] = "https";
  if (key !== "none") headers["x-api-key"] = key === "wrong" ? "gov_wrong" : port === "node" ? nodeKey : apiKey;
  if (expects) headers.expect = "100-continue";
  return headers;
}

/** Runs a program that sends requests. Returns what it says of each. */
async function sendWith(program: readonly string[], requests: readonly ClientRequest[]): Promise<unknown[]> {
  const given = requests.map((request) => ({ ...request, url: urlOf(request), headers: headersOf(request) }));
  const ca = readFileSync(inFolder("ca.crt"), "utf8");
  const asked = JSON.stringify({ ca, caFile: inFolder("ca.crt"), requests: given });
  const env = { PATH: process.env.PATH ?? "", NODE_EXTRA_CA_CERTS: inFolder("ca.crt") };
  const child = Bun.spawn([...program, asked], { stdin: "ignore", stdout: "pipe", stderr: "pipe", env });
  const { code, out, err } = await ended(child);
  expect({ code, err }).toEqual({ code: 0, err: "" });
  return JSON.parse(out);
}

async function sendWithCurl(_: unknown, requests: readonly ClientRequest[]): Promise<unknown[]> {
  const answered: unknown[] = [];
  for (const request of requests) {
    const { method, size, isChunked, isLast } = request;
    const headers = { expect: "", ...headersOf(request), ...(isLast && { connection: "close" }) };
    const given = Object.entries(headers).flatMap(([name, value]) => ["-H", `${name}:${value && ` ${value}`}`]);
    writeFileSync(inFolder("body"), Buffer.alloc(size, "x"));
    const body = ["--data-binary", `@${inFolder("body")}`, ...(isChunked ? ["-H", "transfer-encoding: chunked"] : [])];
    const command = ["curl", "-sS", "--http1.1", "--cacert", inFolder("ca.crt"), "-o", inFolder("answer")];
    const child = Bun.spawn([...command, "-w", "%{http_code}", "-X", method, ...given, ...body, urlOf(request)], {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    const { code, out, err } = await ended(child);
    answered.push(code === 0 ? Number(out) : err);
  }
  return answered;
}

const PYTHON = ["python3", "/usr/bin/python3"].find(
  (path) => Bun.which(path) !== null && Bun.spawnSync([path, "-c", "import httpx, requests"]).success,
);

type Send = (program: readonly string[], requests: readonly ClientRequest[]) => Promise<unknown[]>;

/** How a client sends a request: `closes` its connection with it, or `expects` to be told whether to send the body. */
const WAYS = {
  "on a connection that stays": {},
  "with Connection: close": { isLast: true },
  "with Expect": { expects: true },
  "with Expect and Connection: close": { expects: true, isLast: true },
} as const;
type Way = keyof typeof WAYS;
const [STAYS, CLOSES, EXPECTS, EXPECTS_AND_CLOSES] = Object.keys(WAYS) as [Way, Way, Way, Way];

/** Each client: its program, null when it is not installed, and the ways in which it can send a request. */
const CLIENTS: readonly [name: string, program: readonly string[] | null, send: Send, ways: readonly Way[]][] = [
  ["http and https", nodeProgram(), sendWith, [STAYS, CLOSES, EXPECTS, EXPECTS_AND_CLOSES]],
  ["fetch", nodeProgram(), sendWith, [STAYS]],
  ["requests", pythonProgram(), sendWith, [STAYS, CLOSES]],
  ["httpx", pythonProgram(), sendWith, [STAYS, CLOSES]],
  ["curl", Bun.which("curl") === null ? null : [], sendWithCurl, [STAYS, EXPECTS]],
];

function nodeProgram(): readonly string[] | null {
  const node = Bun.which("node");
  return node === null ? null : [node, join(import.meta.dir, "clients/node.mjs")];
}

function pythonProgram(): readonly string[] | null {
  return PYTHON === undefined ? null : [PYTHON, join(import.meta.dir, "clients/python.py")];
}

describe.each(CLIENTS)("%s", (client, program, send, ways) => {
  const cases = ways.flatMap((way) => [false, true].map((isChunked) => [way, isChunked] as const));

  async function assertRefused(refusals: readonly Refusal[], way: Way, isChunked: boolean): Promise<void> {
    const some = refusals.filter((_, index) => (index + SEED) % EVERY === 0);
    const tries = Array.from({ length: TRIES }, () => some).flat();
    const requests = tries.map((each) => ({ ...each, client, isChunked, isLast: false, expects: false, ...WAYS[way] }));
    const answered = await send(program as readonly string[], requests);
    const said = (status: unknown, { method, port, path, size }: Refusal) =>
      `${method} ${port} ${path} with ${size} bytes: ${status}`;
    expect(answered.map((status, at) => said(status, requests[at] as Refusal))).toEqual(
      requests.map((request) => said(request.status, request)),
    );
  }

  test.skipIf(program === null).each(cases)("%s, chunked: %p", (way, isChunked) =>
    assertRefused(REFUSALS, way, isChunked),
  );

  test.skipIf(program === null || LIBSQL_SERVER === null).each(cases)("forwarded, %s, chunked: %p", (way, isChunked) =>
    assertRefused(FORWARDED, way, isChunked),
  );
});

describe.skipIf(LIBSQL_SERVER === null)("a node that forwards a request", () => {
  const forwarding = () => new URL(nodes?.[1].url ?? "");
  const begin = (line: string, headers: string) =>
    `${line} HTTP/1.1\r\nHost: ${forwarding().host}\r\nX-API-Key: ${nodeKey}\r\n${headers}\r\n`;
  const read = "GET /v1/data/read?agent_id=a&key=k";

  test("cuts the client off that goes on sending after the refusal", async () => {
    const headers = "Content-Length: 1000000000000\r\n";
    using client = await slowClient(Number(forwarding().port), { begin: begin("POST /v1/nothing", headers) });
    client.drip("x".repeat(200_000), 20);
    await client.cut();
    expect(client.received).toStartWith("HTTP/1.1 404");
  });

  test("cuts the client off that sends no more requests", async () => {
    using client = await slowClient(Number(forwarding().port), { begin: begin(read, "") });
    await client.cut();
    expect(client.received).toStartWith("HTTP/1.1 200");
  });

  test("carries out what closes its connection", async () => {
    const body = JSON.stringify({ agent_id: "a", key: "last", value: "v".repeat(100_000) });
    const headers = `Connection: close\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
    for (const request of [begin("POST /v1/data/write", headers) + body, begin(read, "Connection: close\r\n")]) {
      // On a busy machine the owner may lose its lease, and the next one is not ready at once.
      await eventually("an answer other than 503", async () => {
        using client = await slowClient(Number(forwarding().port), { begin: request });
        await client.cut();
        if (client.received.startsWith("HTTP/1.1 503")) return false;
        expect(client.received).toStartWith("HTTP/1.1 200");
        return true;
      });
    }
  });
});
