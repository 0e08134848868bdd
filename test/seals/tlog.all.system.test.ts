/** The log as C2SP tlog-tiles: what is served, to whom, and that a stock client reads and checks all of it. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { createHash } from "node:crypto";
import { eventually } from "../eventually.ts";
import { HAS_GO } from "../go.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";
import { TileClient } from "./tile-client.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const EVENTS = 600;
const HASH_BYTES = 32;

let daemon: TestDaemon;
let workspace: TestWorkspace;
let other: TestWorkspace;
let size = 0;

beforeAll(async () => {
  daemon = await TestDaemon.start({ flags: { seal_interval: "1s" } });
  workspace = await daemon.workspace();
  other = await daemon.workspace("other");
  await daemon.restart(0, { tlog_public: [workspace.id] });
  workspace.client = daemon.client(workspace.client.apiKey);
  other.client = daemon.client(other.client.apiKey);
  for (let at = 0; at < EVENTS; at += 50) {
    await Promise.all(Array.from({ length: 50 }, (_, i) => workspace.client.write("tiled", `k${at + i}`, "v")));
  }
  await eventually("everything is sealed", async () => (await sealedSize()) > EVENTS);
  size = await sealedSize();
});
afterAll(() => daemon[Symbol.asyncDispose]());

const sealedSize = async () => Number((await get("/v1/tlog/checkpoint")).text.split("\n")[1]);
const get = (path: string, key: string | null = workspace.client.apiKey) => workspace.client.send({ path, key });

async function bytesOf(path: string): Promise<Buffer> {
  const response = await fetch(daemon.url + path, {
    headers: { "x-api-key": workspace.client.apiKey },
    tls: { ca: daemon.ca },
  });
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("application/octet-stream");
  return Buffer.from(await response.arrayBuffer());
}

test("the checkpoint is the newest seal", async () => {
  expect((await get("/v1/tlog/checkpoint")).text).toBe((await get("/v1/audit/seal")).text);
});

test("hashes of level 0 are those of the entries, and level 1 has the roots of full tiles", async () => {
  for (const [number, width] of [
    ["000", 256],
    ["001", 256],
    ["002.p/5", 5],
  ] as const) {
    const hashes = await bytesOf(`/v1/tlog/tile/0/${number}`);
    const entries = await bytesOf(`/v1/tlog/tile/entries/${number}`);
    expect(hashes.length).toBe(width * HASH_BYTES);
    let at = 0;
    for (let i = 0; i < width; i++) {
      const entry = entries.subarray(at + 2, at + 2 + entries.readUInt16BE(at));
      at += 2 + entry.length;
      const leaf = createHash("sha256").update("\0").update(entry).digest();
      expect(hashes.subarray(i * HASH_BYTES, (i + 1) * HASH_BYTES).equals(leaf)).toBe(true);
    }
    expect(at).toBe(entries.length);
  }
  expect((await bytesOf("/v1/tlog/tile/1/000.p/2")).length).toBe(2 * HASH_BYTES);
});

test("what the newest seal does not cover, and what is no tile, is not found", async () => {
  const beyond = [`0/002.p/${size - 512 + 1}`, "0/002", "0/003.p/1", "1/000", "1/000.p/3", "2/000.p/1", "63/000.p/1"];
  const malformed = [
    "0/2",
    "0/0002",
    "0/x000/001",
    "0/000.p/0",
    "0/000.p/256",
    "0/000.p/01",
    "0/000.p/",
    "64/000",
    "00/000",
  ];
  const odd = [
    "-1/000",
    "0/001/x002",
    "0/",
    "entries/",
    "0/x999/x999/x999/x999/x999/999",
    "0/%00",
    "a/000",
    "entries/3",
  ];
  for (const path of [...beyond, ...malformed, ...odd]) {
    const { status, json } = await get(`/v1/tlog/tile/${path}`);
    expect([path, status, json.code]).toEqual([path, 404, "not_found"]);
  }
});

test("nothing is recorded, and what never changes may be kept", async () => {
  const { head } = workspace.view;
  for (const path of ["tile/0/000", "tile/entries/000", "tile/0/002.p/1"]) {
    const { headers } = await get(`/v1/tlog/${path}`);
    expect(headers.get("cache-control")).toBe("private, max-age=31536000, immutable");
  }
  expect((await get("/v1/tlog/checkpoint")).headers.get("cache-control")).toBe("no-store");
  expect(workspace.view.head).toEqual(head);
});

test("keys of scope full and auditor read it; those of some agents do not read entries", async () => {
  const auditor = await daemon.clientWith(workspace.id, { scope: "auditor" });
  const agent = await daemon.clientWith(workspace.id, { scope: "agent" });
  const limited = await daemon.clientWith(workspace.id, { scope: "full", agents: ["tiled"] });
  for (const path of ["checkpoint", "tile/0/000", "tile/entries/000"]) {
    expect((await auditor.send({ path: `/v1/tlog/${path}` })).status).toBe(200);
    expect((await agent.send({ path: `/v1/tlog/${path}` })).status).toBe(403);
    expect((await get(`/v1/tlog/${path}`, null)).status).toBe(401);
  }
  expect((await limited.send({ path: "/v1/tlog/tile/entries/000" })).status).toBe(403);
});

test("a public log's checkpoint and hashes need no key; its entries and other logs do", async () => {
  const base = `/v1/tlog/${workspace.id}`;
  const tile = await get(`${base}/tile/0/000`, null);
  expect([tile.status, tile.headers.get("cache-control")]).toEqual([200, "public, max-age=31536000, immutable"]);
  expect((await get(`${base}/checkpoint`, null)).status).toBe(200);
  // A wrong key is one in either header; what is no key is nobody's.
  const sent = async (authorization: string) =>
    (await workspace.client.send({ path: `${base}/checkpoint`, key: null, headers: { authorization } })).status;
  expect(await Promise.all(["Bearer no", `Bearer ${workspace.client.apiKey}`, "Basic no"].map(sent))).toEqual([
    401, 200, 200,
  ]);
  expect((await get(`${base}/tile/entries/000`, null)).status).toBe(404);
  expect((await get(`/v1/tlog/${other.id}/checkpoint`, null)).status).toBe(401);
  expect((await get(`/v1/tlog/${other.id}/checkpoint`)).status).toBe(404);
  expect((await get(`${base}/checkpoint`, other.client.apiKey)).status).toBe(404);
  expect((await get(`${base}/checkpoint`)).status).toBe(200);
  expect((await get(`/v1/tlog/ws_${"0".repeat(26)}/checkpoint`, null)).status).toBe(401);
});

test.skipIf(!HAS_GO)("a stock client reads and checks the log, with a key and as a public one", async () => {
  using directory = temporaryDirectory();
  const client = new TileClient(directory);
  const key = (await get("/v1/audit/key")).json.verifier_key as string;
  const url = `${daemon.url}/v1/tlog`;
  const whole = await client.check(url, daemon.ca, key, workspace.client.apiKey);
  expect(whole.size).toBeGreaterThanOrEqual(size);
  expect(whole.entries).toBe(whole.size);
  expect(await client.check(`${url}/${workspace.id}`, daemon.ca, key)).toMatchObject({ entries: 0 });
  const otherKey = (await other.client.send({ path: "/v1/audit/key" })).json.verifier_key as string;
  await expect(client.check(url, daemon.ca, otherKey, workspace.client.apiKey)).rejects.toThrow("no verifiable");
});
