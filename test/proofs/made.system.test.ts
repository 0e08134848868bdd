/** Proofs of a workspace in this process: what they claim, what they need, and what both programs say of them. */
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newestSeal, replaceNote } from "../../src/core/rows/log/seals.ts";
import type { JsonObject } from "../../src/json.ts";
import { formatSignature } from "../../src/log/note.ts";
import { parseSeal } from "../../src/log/seal.ts";
import { stampedText, timestampLine } from "../../src/log/timestamp.ts";
import type { OperationInputs } from "../../src/operations.ts";
import { HAS_OPENSSL, TestTimestampAuthority } from "../anchors/authority.ts";
import { governd } from "../cli/governd.ts";
import { Witness } from "../corpus/witness.ts";
import { Seeded } from "../seeded.ts";
import { proofOf, prove, recordRoot } from "../support/state-root.ts";
import { inMemory, PROCESS_TEST_MS } from "../temporary.ts";
import { vectorKey } from "../vectors/make.ts";
import { WrittenLog } from "../vectors/written-log.ts";
import { HAS_PYTHON, SecondVerifier } from "../verify/second-verifier.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const directory = mkdtempSync(join(inMemory(), "governd-proofs-"));
const second = new SecondVerifier();
afterAll(async () => {
  await second[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true });
});

const KEY = join(import.meta.dir, "../vectors/seal.vkey");
const DAY_MS = 86_400_000;

type Wish = Partial<OperationInputs["proof.create"]>;

const wishOf = (log: WrittenLog, wish: Wish) => ({ agentId: "beta", atMs: log.nowMs, withValues: false, ...wish });
const fileOf = async (log: WrittenLog, wish: Wish = {}) =>
  JSON.parse(await proofOf(log, log.principal, wishOf(log, wish)));
const write = (log: WrittenLog, key: string, value = `of ${key}`, agentId = "beta") =>
  log.perform("data.write", { agentId, key, value, metadata: {} });
const detailsOf = (log: WrittenLog): JsonObject =>
  JSON.parse(log.connection.value<string>("SELECT details FROM events ORDER BY seq DESC LIMIT 1") as string);

/** Records a root, and passes a second, so that it is in the past. */
async function root(log: WrittenLog): Promise<void> {
  log.pass(1000);
  expect(await recordRoot(log)).not.toBeNull();
  log.pass(1000);
}

/** Returns the outcome of a request that gets no proof. */
async function refused(log: WrittenLog, wish: Wish, principal = log.principal) {
  const answer = await prove(log, principal, wishOf(log, wish));
  if (answer.kind !== "problem") throw new Error("there is a proof");
  return answer;
}

let files = 0;

/** Verifies a file with both programs. Returns the report of the first. */
async function verified(text: string, ...words: string[]) {
  const path = join(directory, `${files++}.json`);
  writeFileSync(path, text);
  const { code, json, err } = await governd(["verify", path, "--json", "--public-key", KEY, ...words]);
  if (err !== "") throw new Error(err);
  const [source] = json<{ sources: { proof: JsonObject; witnesses?: object[]; timestamps?: object[] }[] }>().sources;
  const own = words.filter((_, at) => words[at - 1] !== "--timestamp-ca" && words[at] !== "--timestamp-ca");
  if (HAS_PYTHON) expect((await second.run(path, "--public-key", KEY, ...own)).code).toBe(code);
  return { code, ...source };
}

test("each claim is what was stored, for keys in any script and all neighbourhoods, and both programs say so", () =>
  WrittenLog.make(vectorKey(), async (log) => {
    const seeded = new Seeded(20_261_130);
    const parts = ["a", "b", "/", "é", "\uffee", "😀", "z", "0", '"', " "];
    const draw = () => Array.from({ length: 1 + seeded.below(3) }, () => parts[seeded.below(parts.length)]).join("");
    const agents = ["alpha", "beta", "gamma"];
    const stored = new Map(agents.map((agentId) => [agentId, new Map<string, string>()]));
    for (let writes = 0; writes < 90; writes++) {
      const agentId = agents[seeded.below(2)] as string;
      const key = draw();
      await write(log, key, `v${writes}`, agentId);
      stored.get(agentId)?.set(key, `v${writes}`);
    }
    await root(log);
    await write(log, "after the root");
    await log.writer.seal();
    for (let draws = 0; draws < 60; draws++) {
      const agentId = [...agents, "aaa", "beta2"][seeded.below(5)] as string;
      const own = stored.get(agentId) ?? new Map<string, string>();
      const [name, withValues] = [draw(), draws % 2 === 0];
      const about = [{ key: name }, { prefix: name }, {}][draws % 3] as { key?: string; prefix?: string };
      const wanted = [...own].filter(([key]) =>
        about.key !== undefined ? key === name : about.prefix !== undefined ? key.startsWith(name) : true,
      );
      const text = await proofOf(log, log.principal, wishOf(log, { agentId, ...about, withValues }));
      const file = JSON.parse(text);
      const absent = wanted.length === 0 && (about.key ?? about.prefix) !== undefined;
      const claim = absent ? "absent" : about.key === undefined ? "complete" : "held";
      const values = new Map(file.entries.map(({ key, value }: { key: string; value?: string }) => [key, value]));
      expect([file.claim, values]).toEqual([
        claim,
        new Map(wanted.map(([key, value]) => [key, withValues ? value : undefined])),
      ]);
      const { code, proof } = await verified(text);
      expect([code, proof]).toMatchObject([0, { claim, entries: wanted.length, agent_id: agentId }]);
    }
  }));

test("a proof of a moment stays possible when its versions are gone, but not its values", () =>
  WrittenLog.make(vectorKey(), async (log) => {
    await log.perform("config.update", { agentId: "beta", config: { policies: { history_days: 0 } } });
    await write(log, "k", "first");
    await write(log, "deleted");
    await root(log);
    const atMs = log.nowMs;
    await write(log, "k", "second");
    await log.perform("data.delete", { agentId: "beta", key: "deleted" });
    await log.writer.seal();
    const file = await fileOf(log, { atMs });
    expect(file.entries.map(({ key }: { key: string }) => key)).toEqual(["deleted", "k"]);
    expect(await refused(log, { atMs, withValues: true })).toMatchObject({
      code: "moment_gone",
      detail: expect.stringContaining("leave out with_values"),
      extra: { kept_since: expect.any(String) },
    });
    expect(detailsOf(log)).toEqual({ code: "moment_gone" });
  }));

test("with a history, the values of a moment are shown too, and the event names what was returned", () =>
  WrittenLog.make(vectorKey(), async (log) => {
    await write(log, "k", "first");
    await root(log);
    const atMs = log.nowMs;
    await write(log, "k", "second");
    const file = await fileOf(log, { atMs, key: "k", withValues: true });
    expect(file.entries).toMatchObject([{ key: "k", value: "first", version: 1 }]);
    expect(detailsOf(log)).toEqual({
      ...{ claim: "held", count: 1, key: "k", root_seq: 2, with_values: true },
      ...{ returned: [1], read_seq: 1 },
    });
    expect((await fileOf(log, { key: "k" })).entries[0].value).toBeUndefined();
    expect(detailsOf(log)).toEqual({ claim: "held", count: 1, key: "k", root_seq: 2 });
  }));

test("an erasure makes the roots before it unprovable, and not those after it", () =>
  WrittenLog.make(vectorKey(), async (log) => {
    await write(log, "k");
    await write(log, "personal");
    await write(log, "under/1");
    await log.perform("data.delete_prefix", { agentId: "beta", prefix: "under/" });
    await root(log);
    const atMs = log.nowMs;
    await log.perform("data.erase", { agentId: "beta", key: "personal" });
    await log.perform("data.erase", { agentId: "beta", prefix: "under/" });
    await root(log);
    expect(await refused(log, { atMs, key: "k" })).toMatchObject({
      code: "moment_gone",
      detail: expect.stringContaining("erased"),
    });
    const file = await fileOf(log, { key: "personal" });
    expect(file).toMatchObject({ claim: "absent", before: { key: "k" }, after: null });
  }));

test("what had expired, or a sweep removed, is absent; what ends later was held", () =>
  WrittenLog.make(vectorKey(), async (log) => {
    const ending = (key: string, afterMs: number) =>
      log.perform("data.write", { agentId: "beta", key, value: "v", metadata: {}, expiry: { afterMs } });
    await ending("over", 1000);
    await ending("later", DAY_MS);
    log.pass(5000);
    await write(log, "k");
    await root(log);
    const atMs = log.nowMs;
    const keysOf = async (wish: Wish) => (await fileOf(log, wish)).entries.map(({ key }: { key: string }) => key);
    expect(await keysOf({ atMs })).toEqual(["k", "later"]);
    log.pass(2 * DAY_MS);
    await write(log, "k2");
    await root(log);
    expect(await keysOf({})).toEqual(["k", "k2"]);
    expect(await keysOf({ atMs })).toEqual(["k", "later"]);
  }));

test("a moment before every root, and one that has not come, say so", () =>
  WrittenLog.make(vectorKey(), async (log) => {
    await write(log, "k");
    expect(await refused(log, { key: "k" })).toMatchObject({ code: "moment_gone", extra: { kept_since: null } });
    await root(log);
    expect(await refused(log, { atMs: log.nowMs - DAY_MS, key: "k" })).toMatchObject({
      code: "moment_gone",
      extra: { kept_since: expect.stringMatching(/^2026-03-01T/) },
    });
    const future = prove(log, log.principal, wishOf(log, { atMs: log.nowMs + DAY_MS, key: "k" }));
    await expect(future).rejects.toMatchObject({ code: "invalid_request", options: { param: "at" } });
  }));

test("a key that is limited to agents gets no proof that names another agent's entry", () =>
  WrittenLog.make(vectorKey(), async (log) => {
    await write(log, "secret plan", "v", "alpha");
    await write(log, "k");
    await write(log, "m");
    await root(log);
    const limited = { ...log.principal, agents: ["beta"] };
    const of = (wish: Wish) => prove(log, limited, wishOf(log, wish));
    expect((await of({ key: "k" })).kind).toBe("json");
    expect((await of({ key: "l" })).kind).toBe("json");
    for (const wish of [{ key: "a" }, {}, { prefix: "k" }] as Wish[])
      await expect(of(wish)).rejects.toMatchObject({ code: "forbidden" });
    await expect(of({ key: "a" })).rejects.toThrow(/not for/);
  }));

test("an agent that never began has nothing, provably, and a key that a policy keeps out is not recorded", () =>
  WrittenLog.make(vectorKey(), async (log) => {
    await log.perform("policies.update", { workspacePolicies: { policies: { block_pii: true } } });
    await write(log, "k");
    await root(log);
    expect(await fileOf(log, { agentId: "nobody" })).toMatchObject({ claim: "complete", entries: [] });
    expect(detailsOf(log)).toMatchObject({ agent_id: "nobody", claim: "complete", count: 0 });
    const key = "mail/jane.roe@acme.io";
    expect(await fileOf(log, { key })).toMatchObject({ claim: "absent", key });
    expect(detailsOf(log)).toMatchObject({ claim: "absent", redacted: true });
    expect(JSON.stringify(detailsOf(log))).not.toContain("jane");
  }));

describe("on whose word its time rests", () => {
  /** Makes a proof whose first seal has further lines, and a later one has none. */
  const provedWith = (linesOf: (note: string) => Promise<string> | string) =>
    WrittenLog.make(vectorKey(), async (log) => {
      await write(log, "k");
      await root(log);
      await log.writer.seal();
      const seal = await newestSeal(log.connection);
      if (seal === null) throw new Error("there is no seal");
      await log.writer.derive(async (tx) => replaceNote(tx, seal.id, await linesOf(seal.note)));
      await write(log, "k2");
      await log.writer.seal();
      return await proofOf(log, log.principal, wishOf(log, { key: "k" }));
    });

  test("the daemon's clock, or a seal that was kept", async () => {
    const text = await provedWith((note) => note);
    expect((await verified(text)).proof).toMatchObject({ time_rests_on: "clock" });
    const kept = join(directory, "kept.txt");
    writeFileSync(kept, JSON.parse(text).seal);
    expect((await verified(text, "--seal", kept)).proof).toMatchObject({ time_rests_on: "kept_seal" });
  });

  test("a witness", async () => {
    const witness = new Witness("w1.example");
    const text = await provedWith((note) => witness.cosign(note));
    const { code, proof, witnesses } = await verified(text, "--witness-key", witness.key);
    expect([code, proof, witnesses]).toMatchObject([0, { time_rests_on: "witness" }, [{ name: "w1.example" }]]);
    expect((await verified(text, "--witness-key", new Witness("w2.example").key)).code).toBe(2);
    const file = JSON.parse(text);
    const bad = JSON.stringify({ ...file, seal: file.seal.replace(/(\n— w1\.example \S{20})./, "$1_") });
    expect((await verified(bad, "--witness-key", witness.key)).code).not.toBe(0);
  });

  test.skipIf(!HAS_OPENSSL)("a time stamp authority", async () => {
    await using authority = new TestTimestampAuthority(join(directory, "authority"));
    const text = await provedWith(async (note) => {
      const token = await authority.token(stampedText(parseSeal(note)));
      return note + formatSignature(timestampLine("tsa.example", token));
    });
    const { code, proof, timestamps } = await verified(text, "--timestamp-ca", authority.rootFile);
    expect([code, proof]).toMatchObject([0, { time_rests_on: "time_stamp" }]);
    expect(timestamps).toHaveLength(1);
  });
});
