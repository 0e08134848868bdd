/** What is compressed, for whom, and that nothing is changed by it. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from "node:zlib";
import { apiRoutes } from "../../src/serve/http/app.ts";
import { compressedBody } from "../../src/serve/http/pipeline/compression.ts";
import { eventually } from "../eventually.ts";
import { assertDeclaresHeaders } from "./support/openapi.ts";
import { serveTls, type TestServer } from "./support/serve.ts";

let server: TestServer;
beforeAll(async () => {
  server = await serveTls();
});
afterAll(() => server[Symbol.asyncDispose]());

const DECODERS: Record<string, (bytes: Uint8Array<ArrayBuffer>) => Uint8Array> = {
  gzip: gunzipSync,
  br: brotliDecompressSync,
  zstd: zstdDecompressSync,
};

/** The answer as it was sent, and its text. */
async function ask(path: string, acceptEncoding: string, init: RequestInit = {}) {
  const response = await fetch(server.url + path, {
    ...init,
    headers: { "x-api-key": "full-key", "accept-encoding": acceptEncoding, ...(init.headers as object) },
    decompress: false,
    tls: { rejectUnauthorized: false },
  } as RequestInit);
  const bytes = new Uint8Array(await response.arrayBuffer());
  const coding = response.headers.get("content-encoding");
  const text = Buffer.from(coding === null ? bytes : (DECODERS[coding]?.(bytes) ?? [])).toString();
  return { status: response.status, headers: response.headers, coding, length: bytes.length, text };
}

const LONG = JSON.stringify({ data: Array.from({ length: 4_000 }, (_, seq) => ({ seq, operation: "data.write" })) });
const long = () => ({ kind: "json", status: 200, body: LONG }) as const;

describe("the coding", () => {
  const cases: readonly [accept: string, coding: string | null][] = [
    ["gzip", "gzip"],
    ["gzip, deflate, br, zstd", "zstd"],
    ["gzip, deflate, br", "br"],
    ["gzip;q=1.0, br;q=0.5, zstd;q=0.1", "gzip"],
    ["GZIP ; Q=0.5", "gzip"],
    ["gzip;q=0", null],
    ["gzip;q=x", null],
    ["identity", null],
    ["deflate", null],
    ["", null],
  ];
  test.each(cases)("for %p is %p", async (accept, coding) => {
    for (const path of ["/v1/audit?agent_id=a", "/v1/openapi.json"]) {
      server.workspace.next = path.startsWith("/v1/audit") ? long() : null;
      const answer = await ask(path, accept);
      expect([path, answer.coding, answer.headers.get("vary")]).toEqual([path, coding, "Accept-Encoding"]);
      if (path.startsWith("/v1/audit")) expect(answer.text).toBe(LONG);
      else expect(JSON.parse(answer.text).openapi).toBe("3.1.0");
      if (coding !== null) expect(answer.length).toBeLessThan(answer.text.length / 2);
      server.workspace.next = null;
    }
  });
});

test("the files of the documentation are compressed; probes and short pages are not", async () => {
  for (const path of ["/v1/docs/swagger-ui.css", "/v1/docs/swagger-ui-bundle.js", "/account/openapi.json"]) {
    expect([path, (await ask(path, "gzip")).coding]).toEqual([path, "gzip"]);
  }
  for (const path of ["/healthz", "/readyz", "/v1/docs"]) {
    expect([path, (await ask(path, "gzip")).coding]).toEqual([path, null]);
  }
});

test("only what says nothing secret is compressed, and nothing with an entity tag", () => {
  const compressed = apiRoutes.filter(({ response }) => response.compressed);
  expect(compressed.map(({ operation }) => operation).sort()).toEqual([
    "agent.list",
    "audit.activity",
    "audit.export",
    "audit.query",
    "audit.verify",
    "lineage.read",
  ]);
  expect(compressed.filter(({ response }) => response.etag)).toEqual([]);
});

test("data, configurations and checkpoints are sent as they are, whatever the client accepts", async () => {
  for (const path of [
    "/v1/data/list?agent_id=a&include_values=true",
    "/v1/data/read?agent_id=a&key=k",
    "/v1/config/a",
    "/v1/checkpoints?agent_id=a",
  ]) {
    server.workspace.next = long();
    const { coding, text, headers } = await ask(path, "gzip, br, zstd");
    expect([path, coding, headers.get("vary"), text === LONG]).toEqual([path, null, null, true]);
  }
});

test("a short answer and a problem are not compressed", async () => {
  const short = await ask("/v1/audit?agent_id=a", "gzip");
  expect([short.coding, short.headers.get("vary"), short.text]).toEqual([null, "Accept-Encoding", '{"ok":true}']);
  const refused = await ask("/v1/audit", "gzip");
  expect([refused.status, refused.coding]).toEqual([400, null]);
});

test("HEAD has no body to compress", async () => {
  server.workspace.next = long();
  const { coding, headers, length } = await ask("/v1/audit?agent_id=a", "gzip", { method: "HEAD" });
  expect([coding, headers.get("vary"), length]).toEqual([null, "Accept-Encoding", 0]);
});

/** An export of so many pieces. */
const exportOf = (body: ReadableStream<Uint8Array>) =>
  ({ kind: "stream", contentType: "application/x-ndjson", filename: "audit.ndjson", body }) as const;

const exporting = {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ agent_id: "a", format: "ndjson" }),
};

function pieces(count: number, onCancel = () => {}): ReadableStream<Uint8Array> {
  let sent = 0;
  return new ReadableStream({
    pull(controller) {
      if (sent === count) controller.close();
      else controller.enqueue(new TextEncoder().encode(`{"line":${sent++}}\n`.repeat(1_000)));
    },
    cancel: onCancel,
  });
}

test("an export is compressed as it comes", async () => {
  server.workspace.next = exportOf(pieces(200));
  const { coding, text, headers, length, status } = await ask("/v1/audit/export", "gzip, zstd", exporting);
  expect([coding, text.split("\n").length]).toEqual(["zstd", 200_001]);
  expect(length).toBeLessThan(text.length / 10);
  expect(headers.get("content-disposition")).toContain("audit.ndjson");
  assertDeclaresHeaders("POST", "/v1/audit/export", status, headers);
});

/** A body that is compressed, if there is room for one more. */
const compress = (source: ReadableStream<Uint8Array>) => {
  const headers: Record<string, string> = {};
  const request = new Request("https://localhost/", { headers: { "accept-encoding": "gzip" } });
  const body = compressedBody(source, request, headers) as ReadableStream<Uint8Array>;
  return { body, coding: headers["content-encoding"] };
};

test("few bodies are compressed at once, and one that ends, fails or is left makes room", async () => {
  const endless = () => compress(pieces(Number.POSITIVE_INFINITY));
  const some = Array.from({ length: 4 }, endless);
  expect(some.map(({ coding }) => coding)).toEqual(["gzip", "gzip", "gzip", "gzip"]);
  const further = endless();
  expect(further.coding).toBeUndefined();
  for (const { body } of [...some, further]) await body.cancel();
  const codings = () => {
    const bodies = Array.from({ length: 4 }, endless);
    for (const { body } of bodies) void body.cancel();
    return bodies.map(({ coding }) => coding);
  };
  await eventually("room for four", () => codings().every((coding) => coding === "gzip"));
  let text = "";
  await eventually("room for one", async () => {
    const { body, coding } = compress(pieces(3));
    const bytes = new Uint8Array(await new Response(body).arrayBuffer());
    if (coding === "gzip") text = gunzipSync(bytes).toString();
    return text !== "";
  });
  expect(text).toContain('{"line":2}');
  const failing = compress(
    new ReadableStream({ pull: (controller) => controller.error(new Error("the thread died")) }),
  );
  expect(failing.coding).toBe("gzip");
  expect(new Response(failing.body).text()).rejects.toThrow("the thread died");
  await eventually("room for four again", () => codings().every((coding) => coding === "gzip"));
});

test("a client that leaves cancels what is compressed for it", async () => {
  const cancelled = Promise.withResolvers<void>();
  server.workspace.next = exportOf(pieces(Number.POSITIVE_INFINITY, () => cancelled.resolve()));
  const leaving = new AbortController();
  const response = await fetch(`${server.url}/v1/audit/export`, {
    ...exporting,
    headers: { ...exporting.headers, "x-api-key": "full-key", "accept-encoding": "gzip" },
    signal: leaving.signal,
    tls: { rejectUnauthorized: false },
  } as RequestInit);
  expect(response.headers.get("content-encoding")).toBe("gzip");
  leaving.abort();
  await cancelled.promise;
});
