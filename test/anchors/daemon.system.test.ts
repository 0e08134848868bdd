/** The daemon hands every seal to the program that its settings name, the last ones at its stop included. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { parseSealFile } from "../../src/core/seals/seal-file.ts";
import { AnchorReceipts } from "../../src/follow/anchors/receipts.ts";
import { parseSeal } from "../../src/log/seal.ts";
import { eventually } from "../eventually.ts";
import { TestDaemon } from "../support/daemon.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";

setDefaultTimeout(PROCESS_TEST_MS);

test("every workspace's newest seal is anchored", async () => {
  using directory = temporaryDirectory();
  const program = directory.join("take-seal");
  writeFileSync(program, `#!/bin/sh\ncat > ${directory.path}/$GOVERND_WORKSPACE_ID\n`);
  chmodSync(program, 0o700);
  const begun = Date.now();
  const daemon = await TestDaemon.start({ flags: { anchor_command: program, seal_interval: "1s" } });
  const workspace = await daemon.workspace();
  await workspace.client.write("a", "k", "v");
  const taken = directory.join(workspace.id);
  await eventually("a seal is taken", () => existsSync(taken));
  await workspace.client.write("a", "k", "last");
  const file = `${daemon.dataDir}/seals/${workspace.id}.log`;
  await daemon.restart();
  const filed = parseSealFile(readFileSync(file, "utf8")).seals.at(-1)?.seal.size;
  expect(parseSeal(readFileSync(taken, "utf8")).size).toBe(filed as number);
  // What was anchored is still known, and says nothing of the program.
  const client = daemon.client(workspace.client.apiKey);
  const { status, text, json } = await client.get("/v1/audit/anchors");
  expect([status, json.anchors.length]).toEqual([200, 1]);
  expect(json.anchors[0]).toMatchObject({ kind: "command", name: null, seal_size: filed, failures: 0 });
  for (const time of ["anchored_at", "sealed_at"]) {
    const at = Date.parse(json.anchors[0][time]);
    expect([time, at >= begun, at <= Date.now()]).toEqual([time, true, true]);
  }
  expect(text).not.toContain("take-seal");
  const other = await daemon.workspace();
  expect((await other.client.get("/v1/audit/anchors")).json.anchors).toMatchObject([
    { anchored_at: null, seal_size: null, sealed_at: null, failures: 0 },
  ]);
  await daemon[Symbol.asyncDispose]();
});

test("an anchor that fails is pending, and its address stays secret", async () => {
  const refusing = Bun.serve({ port: 0, fetch: () => new Response(null, { status: 500 }) });
  await using daemon = await TestDaemon.start({
    flags: { seal_interval: "1s", anchor_url: `https://127.0.0.1:${refusing.port}/hook/s3cret-path?token=s3cret` },
  });
  const workspace = await daemon.workspace();
  await workspace.client.write("a", "k", "v");
  const anchors = async () => (await workspace.client.get("/v1/audit/anchors")).json.anchors[0];
  await eventually("a delivery fails", async () => (await anchors()).failures > 0);
  const { text, json } = await workspace.client.get("/v1/audit/anchors");
  expect(json.anchors).toMatchObject([
    {
      kind: "webhook",
      name: `127.0.0.1:${refusing.port}`,
      anchored_at: null,
      seal_size: null,
      pending_since: expect.any(String),
    },
  ]);
  expect(json.anchors[0].failures).toBeGreaterThan(0);
  expect(text + (await daemon.log())).not.toContain("s3cret");
  await refusing.stop(true);
});

test("a truncated receipt counts as none, and the next delivery replaces it", async () => {
  using directory = temporaryDirectory();
  const receipts = new AnchorReceipts(directory.join("anchors"));
  expect(await receipts.of("ws_a")).toEqual({});
  const receipt = { size: 3, sealedMs: 1, takenMs: 2 };
  await Promise.all([receipts.keep("ws_a", "x", receipt), receipts.keep("ws_a", "y", receipt)]);
  expect(await receipts.of("ws_a")).toEqual({ x: receipt, y: receipt });
  const file = directory.join("anchors", "ws_a.json");
  for (const text of ["", '{"x":{"si', "[1]", "null", '{"x":{"size":"3"}}']) {
    writeFileSync(file, text);
    expect(await receipts.of("ws_a")).toEqual({});
  }
  await receipts.keep("ws_a", "x", receipt);
  expect(await receipts.of("ws_a")).toEqual({ x: receipt });
});
