/** Seals get time stamps of a real authority (RFC 3161), which stay with them and are checked by governd and by openssl. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newestSeal } from "../../src/core/rows/log/seals.ts";
import { parseSealFile } from "../../src/core/seals/seal-file.ts";
import type { AnchoredSeal } from "../../src/follow/anchors/targets.ts";
import { timestampTarget } from "../../src/follow/anchors/timestamp.ts";
import { formatNote, formatSignature, formatVerifierKey, parseNote, verifierKey } from "../../src/log/note.ts";
import { parseSeal } from "../../src/log/seal.ts";
import { stampedText, timestampLine, timestampLines } from "../../src/log/timestamp.ts";
import { governd } from "../cli/governd.ts";
import { eventually } from "../eventually.ts";
import { forgeToken, issue } from "../log/forged-token.ts";
import { PATIENCE_MS } from "../patience.ts";
import { sealedWorkspace, writeSome } from "../seals/support.ts";
import { TestDaemon } from "../support/daemon.ts";
import { inMemory, PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";
import { HAS_PYTHON, SecondVerifier } from "../verify/second-verifier.ts";
import { HAS_OPENSSL, TestTimestampAuthority } from "./authority.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const unhurried = () => AbortSignal.timeout(PATIENCE_MS);
const root = mkdtempSync(join(inMemory(), "governd-stamps-"));
let authority: TestTimestampAuthority;

beforeAll(() => {
  if (HAS_OPENSSL) authority = new TestTimestampAuthority(join(root, "authority"));
});
afterAll(async () => {
  if (HAS_OPENSSL) await authority[Symbol.asyncDispose]();
  rmSync(root, { recursive: true });
});

const at = (name: string, text: string): string => {
  writeFileSync(join(root, name), text);
  return join(root, name);
};

const vector = (name: string): string => readFileSync(join(import.meta.dir, "../vectors", name), "utf8");
const key = join(import.meta.dir, "../vectors/seal.vkey");
const seal = vector("seal.txt");

/** Writes the vectors' receipt with further signature lines under its seal. Returns its path. */
const receiptWith = (...tokens: Uint8Array[]): string =>
  at("receipt.txt", vector("receipt.txt") + tokens.map((token) => lineOf(token)).join(""));

const lineOf = (token: Uint8Array): string => formatSignature(timestampLine("tsa.example", token));

/** Verifies evidence with the authority. Returns the exit code, the report and what it says to a person. */
async function verify(path: string, words: string[] = ["--timestamp-ca", authority.rootFile]) {
  const options = ["verify", path, "--public-key", key, ...words];
  const { code, out } = await governd([...options, "--json"]);
  const text = (await governd(options)).out;
  const [source] = out === "" ? [undefined] : JSON.parse(out).sources;
  return { code, text, stamps: source?.timestamps, problems: source?.problems ?? [] };
}

describe.skipIf(!HAS_OPENSSL)("a time stamp", () => {
  test("is kept with its seal and in its file, once", async () => {
    using directory = temporaryDirectory();
    const made = await sealedWorkspace(directory);
    await writeSome(made, 3);
    await made.writer.seal();
    const kept: Promise<void>[] = [];
    const keep = ({ size, note }: AnchoredSeal) => void kept.push(made.writer.addCosignatures(size, note));
    const target = timestampTarget(authority.url, keep);
    const stored = await newestSeal(made.connection);
    for (const _ of "twice")
      await target.deliver({ workspaceId: made.workspaceId, size: 0, note: "", ...stored }, unhurried());
    await Promise.all(kept);
    const note = (await newestSeal(made.connection))?.note ?? "";
    expect(timestampLines(parseSeal(note)).map(({ name }) => name)).toEqual([authority.host]);
    expect(stampedText(parseSeal(note))).toBe(stored?.note as string);
    const { seals } = parseSealFile(readFileSync(made.sealFile, "utf8"));
    expect(seals.map(({ seal: { size } }) => size)).toEqual([4, 4]);
    expect(seals.at(-1)?.note).toBe(note);
    made.writer.close();
    const publicKey = at("w.vkey", formatVerifierKey(verifierKey("any", made.publicKey)));
    const words = ["verify", made.path, "--public-key", publicKey, "--timestamp-ca", authority.rootFile];
    const { code, out } = await governd(words);
    expect([code, out]).toEqual([0, expect.stringMatching(/time stamped through event 3 by Test Time Stamps at 20/)]);
  });

  test("is not taken when an authority fails, refuses, or stamps something else", async () => {
    const kept: AnchoredSeal[] = [];
    const target = timestampTarget(authority.url, (one) => void kept.push(one));
    const deliver = () => target.deliver({ workspaceId: "ws_a", size: 21, note: seal }, unhurried());
    const other = await authority.token("another text\n");
    const granted = Buffer.concat([
      Buffer.from("3082", "hex"),
      Buffer.from([(other.length + 5) >> 8, (other.length + 5) & 255]),
    ]);
    const answers: [string, () => Response][] = [
      ["returned 503", () => new Response("", { status: 503 })],
      ["returned 302", () => new Response("", { status: 302, headers: { location: "http://127.0.0.1:1/" } })],
      ["cannot be read", () => new Response("<html>")],
      ["a refusal, status 2", () => new Response(Buffer.from("30053003020102", "hex"))],
      ["too long", () => new Response("x".repeat(100_000))],
      ["not over this seal", () => new Response(Buffer.concat([granted, Buffer.from("3003020100", "hex"), other]))],
    ];
    try {
      for (const [message, answer] of answers) {
        authority.answer = answer;
        await expect(deliver()).rejects.toThrow(message);
      }
    } finally {
      authority.answer = null;
    }
    expect(kept).toEqual([]);
    await deliver();
    expect(kept).toHaveLength(1);
  });

  test("counts only if it is of a given authority, and its authority makes no other", async () => {
    const good = await authority.token(seal);
    const { code, stamps, text } = await verify(receiptWith(good));
    expect([code, stamps]).toEqual([0, [{ name: "Test Time Stamps", through: 20, time: expect.any(String) }]]);
    expect(text).toContain(`time stamped through event 20 by Test Time Stamps at ${stamps[0].time}`);
    const none = await verify(receiptWith());
    expect([none.code, none.problems[0].code]).toEqual([2, "timestamp_missing"]);
    const stranger = await issue("Stranger");
    const forged = await forgeToken(seal, stranger);
    const unknown = await verify(receiptWith(forged));
    expect([unknown.code, unknown.problems[0].message]).toEqual([
      2,
      expect.stringContaining("tsa.example: its certificate does not lead"),
    ]);
    expect((await verify(receiptWith(forged, good))).code).toBe(0);
    const strangers = at("stranger.pem", stranger.cert.toString("pem"));
    expect((await verify(receiptWith(good), ["--timestamp-ca", strangers])).code).toBe(2);
    expect((await verify(receiptWith(good), ["--timestamp-ca", strangers, authority.rootFile])).code).toBe(0);
    const wrong = await verify(receiptWith(await authority.token("another text\n")));
    expect([wrong.code, wrong.problems[0].code]).toEqual([1, "seal_signature"]);
    const garbage = await verify(receiptWith(Buffer.from("garbage")));
    expect([garbage.code, garbage.problems[0].message]).toEqual([2, expect.stringContaining("it cannot be read")]);
    // Who asks for nothing is told nothing.
    expect(await verify(receiptWith(forged), [])).toMatchObject({ code: 0, stamps: undefined });
  });

  test("under a kept seal counts for the log", async () => {
    const stamped = at("kept.seal", seal + lineOf(await authority.token(seal)));
    const path = join(import.meta.dir, "../vectors/sealed.ndjson");
    expect((await verify(path)).code).toBe(2);
    const { code, stamps } = await verify(path, ["--seal", stamped, "--timestamp-ca", authority.rootFile]);
    expect([code, stamps[0].through]).toEqual([0, 20]);
  });

  test("is asked for with certificates that can be read", async () => {
    for (const file of [at("none.pem", "no certificate"), join(root, "missing.pem")]) {
      expect((await governd(["verify", receiptWith(), "--timestamp-ca", file])).code).toBe(2);
    }
  });

  test.skipIf(!HAS_PYTHON)("is nothing to the second program", async () => {
    await using second = new SecondVerifier();
    const path = receiptWith(await authority.token("another text\n"));
    expect((await second.run(path, "--public-key", key)).code).toBe(0);
  });
});

test.skipIf(!HAS_OPENSSL)("a daemon stamps its seals, and openssl verifies the stamp of a receipt", async () => {
  await using daemon = await TestDaemon.start({ flags: { seal_interval: "1s", timestamp_url: authority.url } });
  const workspace = await daemon.workspace();
  const written = await workspace.client.write("a", "k", "v");
  expect(written.status).toBe(200);
  const anchors = async () => (await workspace.client.get("/v1/audit/anchors")).json.anchors;
  await eventually("a seal is stamped", async () => (await anchors())[0].seal_size !== null);
  expect(await anchors()).toMatchObject([{ kind: "timestamp", name: authority.host, failures: 0 }]);
  const stamped = async () => (await workspace.client.get("/v1/audit/seal")).text;
  await eventually("the stamp is stored", async () => timestampLines(parseSeal(await stamped())).length === 1);
  const { text } = await workspace.client.get(`/v1/audit/${written.json.audit_id}/receipt`);
  const note = text.slice(text.indexOf("\n\n") + 2);
  const [line] = timestampLines(parseSeal(note));
  const { text: body, signatures } = parseNote(note);
  at("stamped.txt", formatNote({ text: body, signatures: signatures.slice(0, 1) }));
  writeFileSync(join(root, "token.der"), line?.signature ?? "");
  copyFileSync(authority.rootFile, join(root, "root.pem"));
  const words = ["ts", "-verify", "-token_in", "-in", "token.der", "-data", "stamped.txt", "-CAfile", "root.pem"];
  const { exitCode, stdout } = Bun.spawnSync(["openssl", ...words], { cwd: root });
  expect([exitCode, String(stdout)]).toEqual([0, "Verification: OK\n"]);
});
