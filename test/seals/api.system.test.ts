/** Seals, proofs and receipts as a client gets them from the daemon. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSealFile } from "../../src/core/seals/seal-file.ts";
import { parseVerifierKey } from "../../src/log/note.ts";
import { verifyInclusion } from "../../src/log/proof.ts";
import { parseReceipt, receiptProblem } from "../../src/log/receipt.ts";
import { checkSeal, parseSeal } from "../../src/log/seal.ts";
import { ExportVerifier } from "../../src/verify/events/export-read.ts";
import { eventually } from "../eventually.ts";
import { verifyConsistency } from "../log/consistency.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { PROCESS_TEST_MS } from "../temporary.ts";

const SEAL_INTERVAL_MS = 1_000;
setDefaultTimeout(PROCESS_TEST_MS);

let daemon: TestDaemon;
let workspace: TestWorkspace;
let publicKey: Uint8Array;

beforeAll(async () => {
  daemon = await TestDaemon.start({ flags: { seal_interval: "1s" } });
  workspace = await daemon.workspace();
  const { json } = await workspace.client.send({ path: "/v1/audit/key" });
  publicKey = parseVerifierKey(json.verifier_key).publicKey;
});
afterAll(() => daemon[Symbol.asyncDispose]());

const get = (path: string) => workspace.client.send({ path });
const sealFile = (): string => join(daemon.dataDir, "seals", `${workspace.id}.log`);
const filed = () => parseSealFile(readFileSync(sealFile(), "utf8")).seals;
const bytes = (hex: string): Uint8Array => Buffer.from(hex, "hex");

async function newestSeal() {
  const answer = await get("/v1/audit/seal");
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-type")).toStartWith("text/plain");
  return { text: answer.text, ...parseSeal(answer.text) };
}

describe("seals", () => {
  test("a new workspace is sealed at once, under the name that its key has", async () => {
    const seal = await newestSeal();
    expect(seal.origin).toBe(`localhost/${workspace.id}`);
    expect(checkSeal(seal, publicKey)).toBe("good");
    const key = await get("/v1/audit/key");
    expect(key.json).toMatchObject({ origin: seal.origin, announced_seq: 0, earlier: [] });
    expect(key.json.public_key).toBe(readFileSync(join(daemon.dataDir, "keys", "seal.pub"), "utf8"));
  });

  test("an event is sealed before long, and looking at seals records nothing", async () => {
    const before = await newestSeal();
    await workspace.client.write("sealed", "k", "v");
    await eventually("it is sealed", async () => (await newestSeal()).size > before.size);
    const seal = await newestSeal();
    expect(seal.size).toBe(before.size + 1);
    await Bun.sleep(2 * SEAL_INTERVAL_MS);
    expect((await newestSeal()).text).toBe(seal.text);
    const answer = await get("/v1/audit/seal");
    expect(answer.headers.get("x-audit-id")).toBeNull();
    expect(filed().at(-1)?.note).toBe(seal.text);
  });

  test("a stop seals the remaining events", async () => {
    await workspace.client.write("sealed", "k", "last");
    await daemon.restart();
    // Before anything is asked: questions are events, too, and sealed in their turn.
    const { size } = filed().at(-1)?.seal ?? { size: 0 };
    workspace = { ...workspace, client: daemon.client(workspace.client.apiKey) };
    const trail = await workspace.client.send({
      path: "/v1/audit",
      query: { agent_id: "sealed", operations: "data.write" },
    });
    expect(trail.json.data[0].seq).toBe(size - 1);
    expect(existsSync(sealFile())).toBe(true);
  });
});

describe("proofs", () => {
  test("connect an event with the newest seal", async () => {
    const written = await workspace.client.write("proved", "k", "v");
    const { json } = await get(`/v1/audit/${written.json.audit_id}?proof=true`);
    const { proof, ...event } = json;
    const seal = parseSeal(proof.seal);
    expect(checkSeal(seal, publicKey)).toBe("good");
    expect(proof.tree_size).toBe(seal.size);
    expect(proof.leaf_index).toBe(event.seq);
    expect(verifyInclusion(bytes(event.hash), event.seq, seal, proof.path.map(bytes))).toBe(true);
    const plain = await get(`/v1/audit/${written.json.audit_id}`);
    expect(plain.json).toEqual(event);
    expect((await get(`/v1/audit/${written.json.audit_id}?proof=maybe`)).status).toBe(400);
  });

  test("show that the log was only added to", async () => {
    const older = await newestSeal();
    for (let i = 0; i < 5; i++) await workspace.client.write("proved", `k${i}`, "v");
    await workspace.client.send({ path: "/v1/audit/export", body: { agent_id: "proved" } });
    const newer = await newestSeal();
    expect(newer.size).toBeGreaterThan(older.size);
    const { status, json } = await get(`/v1/audit/consistency?from=${older.size}&to=${newer.size}`);
    expect(status).toBe(200);
    expect(json.from.root).toBe(Buffer.from(older.root).toString("base64"));
    expect(json.to.root).toBe(Buffer.from(newer.root).toString("base64"));
    expect(verifyConsistency(older, newer, json.proof.map(bytes))).toBe(true);
    expect((await get(`/v1/audit/consistency?from=${older.size}`)).json).toEqual(json);
    for (const bad of ["?from=5&to=2", `?from=1&to=${newer.size + 1}`, "", "?from=-1"]) {
      expect((await get(`/v1/audit/consistency${bad}`)).status).toBe(400);
    }
  });

  test("a receipt stands alone", async () => {
    const written = await workspace.client.write("proved", "receipt", "v");
    const answer = await get(`/v1/audit/${written.json.audit_id}/receipt`);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-disposition")).toContain(`receipt-${written.json.audit_id}.txt`);
    const receipt = parseReceipt(answer.text);
    expect(receipt.event.id).toBe(written.json.audit_id);
    expect(receiptProblem(receipt, publicKey)).toBeNull();
    expect(receiptProblem(receipt, new Uint8Array(32).fill(9))).toContain("not signed by this key");
    const missing = await get("/v1/audit/aud_01h455vb4pex5vsknk084sn02q/receipt");
    expect([missing.status, missing.json.code]).toEqual([404, "audit_event_not_found"]);
  });
});

describe("exports", () => {
  for (const format of ["json", "ndjson"] as const) {
    test(`in ${format} are sealed through their last event, windows of time included`, async () => {
      const agent = `exported-${format}`;
      for (let i = 0; i < 4; i++) await workspace.client.write(agent, `k${i}`, "v");
      const trail = await workspace.client.send({ path: "/v1/audit", query: { agent_id: agent } });
      const times = trail.json.data.map(({ timestamp }: { timestamp: string }) => timestamp).sort();
      const scopes = [
        { agent_id: agent },
        { scope: "workspace" },
        { agent_id: agent, start_time: times[2] },
        { agent_id: agent, end_time: times[2] },
        { scope: "workspace", start_time: times[1], end_time: times[3] },
      ];
      const none = { agent_id: agent, start_time: "2000-01-01T00:00:00Z", end_time: "2000-01-02T00:00:00Z" };
      for (const scope of [...scopes, none]) {
        const answer = await workspace.client.send({ path: "/v1/audit/export", body: { ...scope, format } });
        expect(answer.status).toBe(200);
        const verifier = new ExportVerifier({ publicKeys: [publicKey] });
        verifier.push(Buffer.from(answer.text));
        const { undetermined, problems, valid } = verifier.finish();
        expect([undetermined, problems, valid]).toEqual([null, [], true]);
      }
    });
  }
});
