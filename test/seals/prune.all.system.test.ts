/** Retention of the log itself: bodies go, proofs stay, and verification says from where there is what. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findSuspension } from "../../src/core/rows/suspension.ts";
import { parseReceipt } from "../../src/log/receipt.ts";
import { streamTail } from "../../src/ops/audit/live.ts";
import { governd } from "../cli/governd.ts";
import { PROCESS_TEST_MS } from "../patience.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { idAt } from "../support/event-rows.ts";
import { HAS_PYTHON, SecondVerifier } from "../verify/second-verifier.ts";

let daemon: TestDaemon;
let workspace: TestWorkspace;
let receipt: string;
let exported: string;
let partial: string;
let otherExport: string;
/** The day after tomorrow: also when midnight comes meanwhile, all that is written here is before it. */
const SOON = new Date(Date.now() + 2 * 86_400_000).toISOString().slice(0, 10);

/** Runs a command beside the daemon; its result, or its error, is JSON. */
async function command(...words: string[]) {
  const { code, out, err } = await governd([...words, "--json"]);
  return { exit: code, json: JSON.parse(out || err || "null") };
}

const prune = (...words: string[]) =>
  command("prune", "--workspace", workspace.id, "--before", SOON, "--data-dir", daemon.dataDir, ...words);
const key = () => ["--public-key", join(daemon.dataDir, "keys", "seal.pub")];
const verify = (...words: string[]) => command("verify", ...words, ...key());

const python = new SecondVerifier();
afterAll(() => python[Symbol.asyncDispose]());

/** What the second implementation says of a piece of evidence. */
const second = (path: string) => python.run(...key(), path);

async function exportTo(name: string, from: TestWorkspace, body: object): Promise<string> {
  const { text } = await from.client.send({
    path: "/v1/audit/export",
    body: { scope: "workspace", format: "ndjson", ...body },
  });
  const file = join(daemon.dataDir, name);
  writeFileSync(file, text);
  return file;
}

beforeAll(async () => {
  daemon = await TestDaemon.start();
  workspace = await daemon.workspace();
  const other = await daemon.workspace();
  const { client } = workspace;
  // With a history, the stored versions would keep their events.
  for (const agent of ["alpha", "beta"]) {
    await client.configure(agent, { policies: { block_pii: true, history_days: 0 } });
  }
  await client.configure("gamma", { policies: { block_pii: true } });
  await client.post("/v1/agents/gamma/suspend", { reason: "it wrote card numbers" });
  await client.post("/v1/agents/gamma/resume", { reason: "4111 1111 1111 1111" });
  await client.post("/v1/agents/gamma/suspend", { reason: "4111 1111 1111 1111" });
  const first = await client.write("alpha", "kept", "an entry that stays");
  await client.checkpoint("alpha");
  for (let i = 0; i < 700; i++) await client.write(i % 3 === 0 ? "beta" : "alpha", `k${i % 20}`, `v${i}`);
  await client.send({ method: "DELETE", path: "/v1/data", query: { agent_id: "beta", key: "k3" } });
  receipt = join(daemon.dataDir, "receipt.txt");
  const given = await client.send({ path: `/v1/audit/${first.json.audit_id}/receipt` });
  writeFileSync(receipt, given.text);
  exported = await exportTo("whole.ndjson", workspace, {});
  const middle = (await client.send({ path: "/v1/audit", query: { agent_id: "alpha", limit: 400 } })).json.data;
  partial = await exportTo("partial.ndjson", workspace, { start_time: middle.at(-1).timestamp });
  for (let i = 0; i < 5; i++) await other.client.write("a", "k", "v");
  otherExport = await exportTo("other.ndjson", other, {});
}, PROCESS_TEST_MS);
afterAll(() => daemon[Symbol.asyncDispose]());

describe("pruning", () => {
  test("only says what it would do, unless told to", async () => {
    const { exit, json } = await prune();
    expect(exit).toBe(0);
    expect(json).toMatchObject({ from_seq: 0, before_seq: 512, pruned: false });
    expect(json.events).toBeGreaterThan(400);
    expect((await prune("--before", "2001-01-01")).json).toMatchObject({ events: 0, pruned: false });
  });

  test("refuses without a verified export that reaches over everything that goes", async () => {
    expect((await prune("--yes")).json.error.code).toBe("usage");
    const tampered = join(daemon.dataDir, "tampered.ndjson");
    writeFileSync(tampered, readFileSync(exported, "utf8").replace('"actor":"key_', '"actor":"usr_'));
    for (const [file, reason] of [
      [tampered, "does not verify"],
      [partial, "does not cover"],
      [otherExport, "does not cover this whole workspace"],
      [receipt, "is not a complete export"],
      [join(daemon.dataDir, "nowhere"), "cannot be read"],
    ] as const) {
      const { exit, json } = await prune("--yes", "--export", file);
      expect([exit, json.error.message]).toEqual([2, expect.stringContaining(reason)]);
    }
    expect((await prune()).json.from_seq).toBe(0);
  });

  test("drops bodies; seals, proofs, stored data and the rest of the log hold", async () => {
    const before = workspace.view.connection.get<[number]>("SELECT count(*) FROM events")?.[0] ?? 0;
    const { exit, json } = await prune("--yes", "--export", exported);
    expect([exit, json.pruned]).toEqual([0, true]);
    const after = workspace.view.connection.get<[number]>("SELECT count(*) FROM events")?.[0] ?? 0;
    expect(after).toBe(before - json.events + 1);

    const database = join(daemon.dataDir, "workspaces", `${workspace.id}.db`);
    const found = await verify(database);
    expect(found.json.sources[0].problems).toEqual([]);
    expect(found.exit).toBe(0);
    expect(found.json.sources[0]).toMatchObject({ pruned_before: 512 });
    expect(found.json.sources[0].sealed_through).toBeGreaterThan(700);
    expect(found.json.sources[0].prunings).toEqual([
      { before_seq: 512, export_digest: json.export_digest, export: null },
    ]);
    const both = await verify(database, partial, exported);
    expect(both.json.sources[0].prunings[0].export).toBe(exported);
    if (HAS_PYTHON) {
      expect((await second(database)).out).toContain(`not given: the export with SHA-256 ${json.export_digest}`);
    }
    expect((await verify(receipt)).exit).toBe(0);
    expect((await verify(exported)).exit).toBe(0);
    expect((await command("verify", daemon.dataDir, ...key())).exit).toBe(0);

    const { client } = workspace;
    expect((await client.read("alpha", "kept")).json.value).toBe("an entry that stays");
    // What was refused after it suspended nobody and resumed nobody.
    const suspension = await findSuspension(workspace.view.connection, "gamma");
    expect(suspension?.reason).toBe("it wrote card numbers");
    for (const body of [{ agent_id: "alpha" }, { agent_id: "beta" }, { scope: "workspace" }]) {
      const { json: verified } = await client.send({ path: "/v1/audit/verify", body });
      expect([body, verified.first_invalid, verified.valid]).toEqual([body, null, true]);
    }
    await client.write("alpha", "kept", "overwritten");
    for (const body of [{}, { scope: undefined, agent_id: "alpha" }, { scope: undefined, agent_id: "beta" }]) {
      const again = await verify(await exportTo("after.ndjson", workspace, body));
      expect([again.exit, again.json.sources[0].problems]).toEqual([0, []]);
      expect(again.json.sources[0].completeness).toBe("partial");
      const [head = ""] = readFileSync(join(daemon.dataDir, "after.ndjson"), "utf8").split("\n");
      const { start_time, binding } = JSON.parse(head);
      expect([start_time, binding.details.pruned_before]).toEqual([null, 512]);
    }
    const trail = await client.send({ path: "/v1/audit", query: { scope: "workspace", operations: "audit.prune" } });
    expect(trail.json.data[0].details).toMatchObject({ before_seq: 512, export_digest: json.export_digest });
  });

  test.skipIf(!HAS_PYTHON)("the second implementation verifies the rest, too", async () => {
    const database = join(daemon.dataDir, "workspaces", `${workspace.id}.db`);
    const { code, out } = await second(database);
    expect([code, out]).toEqual([0, expect.stringContaining("with bodies from seq 512 on")]);
    expect(out).toContain("sealed with the given key through seq");
    const bodies = [{}, { format: "json" }, { scope: undefined, agent_id: "alpha" }];
    for (const body of bodies) {
      const path = await exportTo("second.export", workspace, body);
      expect([body, (await second(path)).code]).toEqual([body, 0]);
    }
  });

  test("a pruned event gets its receipt from the kept export", async () => {
    const lines = readFileSync(exported, "utf8").split("\n");
    const { view, client } = workspace;
    for (const seq of [0, 77, 256, 700]) {
      const { id, hash } = JSON.parse(lines[1 + seq] as string);
      const isPruned = view.connection.get("SELECT 1 FROM events WHERE seq = ?", [seq]) === undefined;
      const { status, json } = await client.send({ path: `/v1/audit/${id}/receipt` });
      expect([status, json?.detail ?? ""]).toEqual(
        isPruned ? [404, expect.stringContaining("governd receipt")] : [200, ""],
      );
      for (const words of [
        ["--event", id],
        ["--seq", `${seq}`, "--format", "tlog-proof"],
      ]) {
        const { code, out } = await governd(["receipt", exported, ...words]);
        expect(code).toBe(0);
        const path = join(daemon.dataDir, "pruned.txt");
        writeFileSync(path, out);
        const found = await verify(path);
        expect([found.exit, found.json.sources[0]]).toMatchObject([0, { kind: "receipt", sealed_through: seq }]);
        expect(parseReceipt(out).stored.hash).toBe(hash);
        const changed = lines.with(1 + seq, (lines[1 + seq] as string).replace('"actor":"', '"actor":"key_0'));
        if (HAS_PYTHON) expect((await second(path)).code).toBe(0);
        writeFileSync(path, changed.join("\n"));
        expect((await command("receipt", path, ...words)).exit).toBe(2);
        const otherHash = (_: string, first: string) => `\n${first === "A" ? "B" : "A"}`;
        writeFileSync(path, out.replace(/\n(.)(?=.{42}=\n)/, otherHash));
        expect((await verify(path)).exit).toBe(1);
        if (HAS_PYTHON) expect((await second(path)).code).toBe(1);
      }
    }
    const after = await exportTo("after-prune.ndjson", workspace, {});
    expect((await command("receipt", after, "--seq", "77")).json.error.code).toBe("not_found");
    expect((await command("receipt", after, "--seq", "600")).exit).toBe(0);
  });

  test.each([null, "alpha"])("a stream resumed at the first kept event sends the rest once: %j", async (agentId) => {
    const { connection } = workspace.view;
    const [number, whose] = agentId === null ? ["seq", "true"] : ["agent_seq", "agent_id = 'alpha'"];
    const rows = connection.all<[number, number]>(`SELECT ${number}, seq FROM events WHERE ${whose} ORDER BY seq`);
    const [first, ...rest] = rows;
    expect(rest.length).toBeGreaterThan(100);
    const sent: string[] = [];
    for await (const piece of streamTail(connection, { kind: "tail", agentId, after: first?.[0] ?? -1 })) {
      sent.push(...[...piece.matchAll(/^id: (.*)$/gm)].map(([, id]) => id as string));
      if (sent.length >= rest.length) break;
    }
    expect(sent).toEqual(rest.map(([, seq]) => idAt(connection, seq)));
  });

  test("the remains of the pruned part are still checked", async () => {
    const { view } = workspace;
    const database = join(daemon.dataDir, "workspaces", `${workspace.id}.db`);
    await daemon.restart();
    const { copyFileSync } = await import("node:fs");
    const { tamper } = await import("../corpus/base.ts");
    const kept = view.connection.get<[number]>("SELECT max(seq) FROM events WHERE seq < 512 AND agent_id = 'beta'");
    for (const [what, sql] of [
      ["a leaf", "UPDATE tiles SET hashes = zeroblob(8192) WHERE level = 0 AND tile = 0"],
      ["a tile", "DELETE FROM tiles WHERE level = 0 AND tile = 1"],
      ["a kept event", `UPDATE events SET actor = replace(actor, 'key_', 'usr_') WHERE seq = ${kept?.[0]}`],
      ["a kept event's details", `UPDATE events SET details = replace(details, 'v', 'w') WHERE seq = ${kept?.[0]}`],
      ["a chain's end", `DELETE FROM events WHERE seq = ${kept?.[0]}`],
      ["an event behind", "DELETE FROM events WHERE seq = 600"],
      ["the prune event", "DELETE FROM events WHERE operation = 'audit.prune'"],
    ] as const) {
      const copy = join(daemon.dataDir, "copy.db");
      for (const end of ["", "-wal"]) {
        try {
          copyFileSync(`${database}${end}`, `${copy}${end}`);
        } catch {
          // There is no log beside it.
        }
      }
      tamper(copy, (connection) => expect(connection.change(sql)).toBe(1));
      expect([what, (await verify(copy)).exit]).toEqual([what, 1]);
      if (HAS_PYTHON) expect([what, (await second(copy)).code]).toEqual([what, 1]);
    }
  });
});
