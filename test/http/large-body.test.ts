/** One limit for all bodies, whatever they are for. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { apiRoutes } from "../../src/serve/http/app.ts";
import { readBody } from "../../src/serve/http/pipeline/body.ts";
import { serveTls, type TestServer } from "./support/serve.ts";

const LIMIT = 4 * 1024 * 1024;

let server: TestServer;
beforeAll(async () => {
  server = await serveTls();
});
afterAll(() => server[Symbol.asyncDispose]());

const filled = (text: string, length: number) => text + " ".repeat(length - text.length);
const json = { "content-type": "application/json" };

describe("a body of the limit is read, and one byte more is refused", () => {
  const withBody = apiRoutes.filter(({ body }) => body !== null).map(({ method, path }) => ({ method, path }));
  const mcp = { method: "POST", path: "/v1/mcp" };

  test.each([...withBody, mcp])("$method $path", async ({ method, path: routed }) => {
    const path = routed.replace(/:[a-z_]+/g, "a");
    const headers = { ...json, accept: "application/json, text/event-stream" };
    const within = await server.send({ method, path, headers, body: filled("{}", LIMIT) });
    expect(within.status).not.toBe(413);
    const beyond = await server.send({ method, path, headers, body: filled("{}", LIMIT + 1) });
    expect([beyond.status, beyond.json.code]).toEqual([413, "payload_too_large"]);
    expect(beyond.json.detail).toContain(`${LIMIT} bytes`);
  });
});

test("a batch of the limit is carried out", async () => {
  const operations = Array.from({ length: 1_000 }, (_, i) => ({
    op: "write",
    key: `k${i}`,
    value: `${i} `.repeat(800),
  }));
  const empty = JSON.stringify({ agent_id: "a", operations: [...operations, { op: "write", key: "last", value: "" }] });
  const last = { op: "write", key: "last", value: "x".repeat(LIMIT - empty.length) };
  const body = JSON.stringify({ agent_id: "a", operations: [...operations.slice(1), last] });
  const answer = await server.send({ method: "POST", path: "/v1/data/batch", headers: json, body });
  expect(answer.status).toBe(200);
});

test("a long body is read as it was sent, with and without a declared length", async () => {
  const sent = Buffer.from(Array.from({ length: 700_000 }, (_, i) => i % 251));
  const sizes = [1, 70_000, 300_000, 0, 329_999];
  const chunked = () => {
    let at = 0;
    const [...left] = sizes;
    return new ReadableStream<Uint8Array>({
      pull(controller) {
        const size = left.shift();
        if (size === undefined) return controller.close();
        controller.enqueue(sent.subarray(at, at + size));
        at += size;
      },
    });
  };
  for (const declared of [{}, { "content-length": String(sent.length) }]) {
    const headers = { ...json, ...declared };
    const request = new Request("https://localhost/", { method: "POST", body: chunked(), headers });
    expect(Buffer.compare(await readBody(request, { maxBodyBytes: sent.length }), sent)).toBe(0);
  }
});
