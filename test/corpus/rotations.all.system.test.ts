/**
 * Exports and receipts of a log whose sealing key was rotated: as governd makes them, and as somebody without the keys
 * can change them. Both programs must say the same of each, for every key that an auditor may have.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newSealKey, readSealKey, type SealKey } from "../../src/core/datadir/seal-key.ts";
import { SealKeyring } from "../../src/core/seals/keyring.ts";
import { WorkspaceSealer } from "../../src/core/seals/sealer.ts";
import { createWorkspaceFile, openWorkspaceFile } from "../../src/core/writer/file.ts";
import { WorkspaceWriter } from "../../src/core/writer/perform.ts";
import type { JsonObject, JsonValue } from "../../src/json.ts";
import { canonicalEvent } from "../../src/log/event.ts";
import { eventHash, saltedDigest, sha256Hex } from "../../src/log/hash.ts";
import { canonicalJson } from "../../src/log/jcs.ts";
import type { KeyChain } from "../../src/log/key-chain.ts";
import { CompactRange } from "../../src/log/merkle.ts";
import { ed25519Signer, fingerprintOf, formatVerifierKey, parseVerifierKey, verifierKey } from "../../src/log/note.ts";
import { makeSeal, parseSeal } from "../../src/log/seal.ts";
import type { OperationInputs, OperationName } from "../../src/operations.ts";
import { streamExport } from "../../src/ops/audit/export.ts";
import { jobOf } from "../../src/serve/threads/registry.ts";
import type { Verdict } from "../../src/verify/problems.ts";
import { verifyReceipt } from "../../src/verify/receipt.ts";
import type { SourceResult } from "../../src/verify/report.ts";
import { verifyDatabaseFile, verifyExportFile } from "../../src/verify/sources.ts";
import { readTrust } from "../../src/verify/trust.ts";
import { effort } from "../effort.ts";
import { PROCESS_TEST_MS } from "../patience.ts";
import { inMemory } from "../temporary.ts";
import { codesOf, HAS_PYTHON, SecondVerifier } from "../verify/second-verifier.ts";

const ID = "ws_01h455vb4pex5vsknk084sn02q";
const OTHER = "ws_01h455vb4pex5vsknk084sn02r";
const root = mkdtempSync(join(inMemory(), "governd-rotations-"));
/** Sealing keys in order, and one of somebody else. */
const keys: SealKey[] = [];
const stranger = readSealKey({ kind: "pem", pem: newSealKey() });

class Log {
  readonly #keyFile: string;
  readonly #connection;
  readonly #writer;
  readonly #principal;

  private constructor(
    readonly id: string,
    readonly database: string,
    keyFile: string,
  ) {
    this.#keyFile = keyFile;
    this.#principal = {
      actor: "usr_01h455vb4pex5vsknk084sn02q",
      workspaceId: id,
      scope: "full",
      agents: null,
    } as const;
    this.#connection = openWorkspaceFile(database);
    const keyring = new SealKeyring({ kind: "file", path: keyFile });
    const sealer = new WorkspaceSealer({ keyring, file: `${database}.log` });
    this.#writer = new WorkspaceWriter(this.#connection, { sealer });
  }

  static async create(id: string, name: string, pem: string): Promise<Log> {
    const [database, keyFile] = [join(root, `${name}.db`), join(root, `${name}.key`)];
    writeFileSync(keyFile, pem);
    const sealKey = verifierKey(`corpus.example/${id}`, readSealKey({ kind: "file", path: keyFile }).publicBytes);
    await createWorkspaceFile(database, { workspaceId: id, name: "corpus", actor: "cli", sealKey });
    return new Log(id, database, keyFile);
  }

  async perform<N extends OperationName>(name: N, input: OperationInputs[N]) {
    const [reply] = await this.#writer.perform([jobOf({ name, input, principal: this.#principal })]);
    if (reply === undefined || reply.answer.kind === "problem") throw new Error(`${name}: ${JSON.stringify(reply)}`);
    return reply;
  }

  async write(count: number): Promise<string> {
    let last = "";
    for (let index = 0; index < count; index++) {
      const agentId = index % 2 === 0 ? "alpha" : "beta";
      const { auditId } = await this.perform("data.write", { agentId, key: `k${index}`, value: "v", metadata: {} });
      last = auditId ?? "";
    }
    return last;
  }

  async rotate(pem: string): Promise<void> {
    const next = readSealKey({ kind: "pem", pem }).publicBytes;
    const principal = { ...this.#principal, actor: "cli" };
    const rotation = { operation: "seal.rotate_key", principal } as const;
    await this.#writer.announceSealKey(rotation, verifierKey(`corpus.example/${this.id}`, next), {});
    writeFileSync(this.#keyFile, pem);
  }

  async export(format: "json" | "ndjson", scope: OperationInputs["audit.export"]["scope"], window = {}) {
    const { answer } = await this.perform("audit.export", { scope, format, window });
    if (answer.kind !== "stream" || answer.body.kind !== "export") throw new Error("no export");
    let text = "";
    for await (const piece of streamExport(this.#connection, answer.body, this.id)) text += piece;
    return text;
  }

  async receipt(eventId: string, format?: "tlog-proof"): Promise<string> {
    const { answer } = await this.perform("audit.receipt", { eventId, ...(format === undefined ? {} : { format }) });
    if (answer.kind !== "text") throw new Error("no receipt");
    return answer.body;
  }

  close(): void {
    this.#connection.truncateLog();
    this.#writer.close();
  }
}

/** An export or a receipt. */
interface Evidence {
  name: string;
  text: string;
  /** How many rotations came before. */
  rotations: number;
}

type Head = JsonObject & { keys?: JsonValue; public_key?: JsonValue; seal?: JsonValue };

/** Returns the text with the members of its header changed, or those of the extra data of a receipt. */
function changed({ text }: Evidence, change: (head: Head) => Head): string {
  if (!text.startsWith("c2sp")) {
    const end = text.indexOf("\n");
    if (text.startsWith('{"type"')) return JSON.stringify(change(JSON.parse(text.slice(0, end)))) + text.slice(end);
    return JSON.stringify(change(JSON.parse(text)));
  }
  const [, extra = ""] = /^extra (.*)$/m.exec(text) ?? [];
  const head = JSON.stringify(change(JSON.parse(Buffer.from(extra, "base64").toString())));
  return text.replace(extra, Buffer.from(head).toString("base64"));
}

const isReceipt = ({ text }: Evidence): boolean => text.startsWith("c2sp");

const chainOf = (evidence: Evidence): KeyChain => {
  let found: KeyChain = [];
  changed(evidence, (head) => {
    found = structuredClone((head.keys ?? []) as KeyChain);
    return head;
  });
  return found;
};

const withChain = (evidence: Evidence, change: (chain: KeyChain) => JsonValue): string =>
  changed(evidence, (head) => ({ ...head, keys: change(structuredClone(head.keys as KeyChain)) }));

const edited = (at: number, change: (one: KeyChain[number]) => JsonObject) => (chain: KeyChain) =>
  chain.with(at, change(chain.at(at) as KeyChain[number]) as never) as JsonValue;

/** Returns an event with another key, and a commitment and a hash that fit. */
function renamed(shown: JsonObject, publicKey: Uint8Array): JsonObject {
  const { details, details_salt: salt, hash, ...body } = shown;
  const said = { ...(details as JsonObject), signing_key: fingerprintOf(publicKey) };
  body.details_commitment = saltedDigest(salt as string, canonicalJson(said));
  return { ...body, details: said, details_salt: salt as string, hash: eventHash(canonicalEvent(body as never)) };
}

/** Returns the chain with an announcement of the stranger's key at its end, under a seal that the stranger signed. */
function selfMade(chain: KeyChain): KeyChain {
  const last = chain.at(-1) as KeyChain[number];
  const event = renamed(last.event, stranger.publicBytes);
  const tree = new CompactRange(event.seq as number);
  tree.append(Buffer.from(event.hash as string, "hex"));
  const { origin, size } = parseSeal(last.seal);
  const seal = makeSeal({ origin, size, root: Buffer.from(event.hash as string, "hex") }, [
    ed25519Signer(origin, stranger.privateKey),
  ]);
  const public_key = formatVerifierKey(verifierKey(origin, stranger.publicBytes));
  return [...chain.slice(0, -1), { public_key, event, path: [], seal }];
}

const flip = (text: string): string =>
  text.replace(/.(=*\n)$/, (end) => (end.startsWith("A") ? "B" : "A") + end.slice(1));

type Attack = [name: string, change: (chain: KeyChain, foreign: KeyChain) => JsonValue];

const attacks: Attack[] = [
  ["no announcement", () => []],
  ["null for the announcements", () => ({})],
  ["the genesis removed", (chain) => chain.slice(1)],
  ["the first rotation removed", (chain) => chain.toSpliced(1, 1)],
  ["the last announcement removed", (chain) => chain.slice(0, -1)],
  ["only the last announcement left", (chain) => chain.slice(-1)],
  ["the announcements reversed", (chain) => chain.toReversed()],
  ["the last two swapped", (chain) => [...chain.slice(0, -2), ...chain.slice(-2).toReversed()]],
  ["the last announcement twice", (chain) => [...chain, ...chain.slice(-1)]],
  ["the genesis twice", (chain) => [...chain.slice(0, 1), ...chain]],
  ["all of another log", (_chain, foreign) => foreign],
  ["the last one of another log", (chain, foreign) => [...chain.slice(0, -1), ...foreign.slice(-1)]],
  ["the genesis of another log", (chain, foreign) => [...foreign.slice(0, 1), ...chain.slice(1)]],
  [
    "the seal of another log",
    (chain, foreign) => chain.with(1, { ...(chain[1] as JsonObject), seal: foreign[1]?.seal as string } as never),
  ],
  ["made by somebody without the key", selfMade],
  ["a member more", edited(-1, (one) => ({ ...one, note: "x" }))],
  ["a member missing", edited(-1, ({ path, ...rest }) => rest as never)],
  ["a key exchanged", edited(-1, (one) => ({ ...one, public_key: strangersKey(one.public_key) }))],
  ["the first key exchanged", edited(0, (one) => ({ ...one, public_key: strangersKey(one.public_key) }))],
  ["a key that is none", edited(-1, (one) => ({ ...one, public_key: "x" }))],
  ["the event renamed", edited(-1, (one) => ({ ...one, event: renamed(one.event, stranger.publicBytes) }))],
  ["the details changed", edited(-1, (one) => ({ ...one, event: { ...one.event, details: { signing_key: "x" } } }))],
  ["the details gone", edited(-1, (one) => ({ ...one, event: { ...one.event, details: null, details_salt: null } }))],
  [
    "the event moved in time",
    edited(-1, (one) => ({
      ...one,
      event: { ...one.event, timestamp: one.event.timestamp?.toString().replace("2", "1") as string },
    })),
  ],
  ["a proof with a hash more", edited(-1, (one) => ({ ...one, path: [...one.path, "0".repeat(64)] }))],
  ["a proof without its hashes", edited(0, (one) => ({ ...one, path: [] }))],
  ["a seal that is damaged", edited(-1, (one) => ({ ...one, seal: flip(one.seal) }))],
  ["a seal without a signature", edited(-1, (one) => ({ ...one, seal: one.seal.slice(0, one.seal.indexOf("—")) }))],
  ["a seal that is none", edited(-1, (one) => ({ ...one, seal: "x" }))],
  [
    "the seal before",
    (chain) =>
      chain.with(-1, {
        ...(chain.at(-1) as JsonObject),
        seal: chain[0]?.seal === chain.at(-1)?.seal ? "x" : chain[0]?.seal,
      } as never),
  ],
];

const strangersKey = (text: string): string =>
  formatVerifierKey(verifierKey(parseVerifierKey(text).name, stranger.publicBytes));

interface Case {
  name: string;
  text: string;
  /** The verdict for each key of the auditor: the number of a sealing key, `stranger`, or the first's `fingerprint`. */
  verdicts: Record<string, Verdict>;
}
const cases: Case[] = [];
/** One in this many of the attacks is made, others on each piece of evidence. */
const EVERY = effort({ usual: 4, long: 1 });
let turns = 0;
const databases: { path: string; rotations: number }[] = [];
const EVERYBODY = ["0", "1", "2", "3", "stranger", "fingerprint"];
const everybody = (verdict: Verdict): Case["verdicts"] => Object.fromEntries(EVERYBODY.map((who) => [who, verdict]));

async function evidenceOf(log: Log, eventId: string, rotations: number): Promise<Evidence[]> {
  const found: Evidence[] = [];
  for (const form of ["json", "ndjson"] as const) {
    const shapes = [
      ["a workspace", { scope: "workspace" }, {}],
      ["a window", { scope: "workspace" }, { startMs: Date.now() + 1e6 }],
      ["an agent", { agentId: "alpha" }, {}],
    ] as const;
    for (const [name, scope, window] of shapes) {
      found.push({ name: `${form} of ${name}`, text: await log.export(form, scope, window), rotations });
    }
  }
  found.push({ name: "a receipt", text: await log.receipt(eventId), rotations });
  found.push({ name: "a receipt as tlog-proof", text: await log.receipt(eventId, "tlog-proof"), rotations });
  return found;
}

beforeAll(async () => {
  mkdirSync(join(root, "cases"));
  const pems = Array.from({ length: 4 }, newSealKey);
  keys.push(...pems.map((pem) => readSealKey({ kind: "pem", pem })));
  const log = await Log.create(ID, "log", pems[0] as string);
  const other = await Log.create(OTHER, "other", pems[0] as string);
  await other.write(3);
  for (let rotations = 0; rotations < 4; rotations++) {
    if (rotations > 0) {
      await log.rotate(pems[rotations] as string);
      await other.rotate(pems[rotations] as string);
    }
    const eventId = await log.write(7);
    const foreignEvent = await other.write(2);
    const [foreign] = await evidenceOf(other, foreignEvent, rotations);
    const all = await evidenceOf(log, eventId, rotations);
    for (const evidence of all) {
      const name = `after ${rotations}: ${evidence.name}`;
      // A key verifies what it or a later key sealed, and nothing from before.
      const leads = (who: string): Verdict => (Number(who) <= rotations ? "verified" : "undetermined");
      const honest = Object.fromEntries(EVERYBODY.map((who) => [who, leads(who)]));
      cases.push({ name, text: evidence.text, verdicts: honest });
      const chain = chainOf(evidence);
      expect(chain).toHaveLength(rotations === 0 ? 0 : rotations + 1);
      if (rotations === 0) continue;
      const bare = changed(evidence, ({ keys: _, ...rest }) => rest);
      // Without the announcements, only the key that sealed it verifies it.
      const own = { ...everybody("undetermined"), [rotations]: "verified" as const };
      cases.push({ name: `${name}: no keys`, text: bare, verdicts: own });
      // The middle chain has nothing that the shortest and the longest do not have.
      for (const [attack, change] of rotations === 2 ? [] : attacks) {
        if (turns++ % EVERY !== 0) continue;
        const text = withChain(evidence, (given) => change(given, chainOf(foreign as Evidence)));
        cases.push({ name: `${name}: ${attack}`, text, verdicts: everybody("tampered") });
      }
      if (isReceipt(evidence)) continue;
      const newKey = (head: Head): Head => ({ ...head, public_key: strangersKey(head.public_key as string) });
      cases.push({ name: `${name}: another key`, text: changed(evidence, newKey), verdicts: everybody("tampered") });
      const invented = changed(evidence, (head) => newKey({ ...head, keys: selfMade(head.keys as KeyChain) }));
      cases.push({ name: `${name}: a key and its announcement`, text: invented, verdicts: everybody("tampered") });
      const resealed = changed(evidence, (head) => {
        const { origin, size, root } = parseSeal(head.seal as string);
        const seal = makeSeal({ origin, size, root }, [ed25519Signer(origin, stranger.privateKey)]);
        return newKey({ ...head, seal, keys: selfMade(head.keys as KeyChain) });
      });
      cases.push({
        name: `${name}: a key, its announcement and a seal`,
        text: resealed,
        verdicts: everybody("tampered"),
      });
    }
  }
  log.close();
  other.close();
  databases.push({ path: log.database, rotations: 3 });
  // A log that the stranger made, with a rotation of their own.
  const invented = await Log.create(
    ID,
    "invented",
    stranger.privateKey.export({ format: "pem", type: "pkcs8" }).toString(),
  );
  await invented.write(3);
  await invented.rotate(newSealKey());
  const eventId = await invented.write(3);
  for (const { name, text } of await evidenceOf(invented, eventId, 1)) {
    const verdicts = { ...everybody("undetermined"), stranger: "verified" as const };
    cases.push({ name: `invented: ${name}`, text, verdicts });
  }
  invented.close();
}, PROCESS_TEST_MS);
afterAll(async () => {
  await second[Symbol.asyncDispose]();
  rmSync(root, { recursive: true });
});

const givenKey = (who: string): string => {
  if (who === "stranger") return Buffer.from(stranger.publicBytes).toString("hex");
  if (who === "fingerprint") return fingerprintOf((keys[0] as SealKey).publicBytes);
  return Buffer.from((keys[Number(who)] as SealKey).publicBytes).toString("hex");
};

/** What governd says of each text, which the tests of both programs use. */
const reports = new Map<string, Promise<SourceResult>>();

function verdictOf(path: string, text: string, publicKeys: string[]): Promise<SourceResult> {
  const name = sha256Hex(Buffer.from(`${publicKeys.join()} ${text}`));
  const report = reports.get(name) ?? verified(path, text, publicKeys);
  reports.set(name, report);
  return report;
}

async function verified(path: string, text: string, publicKeys: string[]): Promise<SourceResult> {
  const trust = readTrust({ publicKey: publicKeys });
  if (text.startsWith("c2sp")) return verifyReceipt(text, path, trust);
  return await verifyExportFile(1, { path, trust });
}

const second = new SecondVerifier();

async function verify(publicKeys: readonly string[], paths: readonly string[]) {
  const options = publicKeys.flatMap((key) => ["--public-key", key]);
  return (await second.run(...options, ...paths)).sources;
}

describe("evidence from after a rotation of the sealing key", () => {
  test("there is much of it", () => expect(cases.length).toBeGreaterThan(500 / EVERY));

  test(
    "governd verify says of each what it must",
    async () => {
      const path = join(root, "cases/one");
      const wrong: unknown[] = [];
      for (const { name, text, verdicts } of cases) {
        writeFileSync(path, text);
        for (const who of EVERYBODY) {
          const found = await verdictOf(path, text, [givenKey(who)]);
          if (found.verdict !== verdicts[who]) wrong.push([name, who, found.verdict, found.report.problems]);
        }
      }
      expect(wrong).toEqual([]);
    },
    PROCESS_TEST_MS,
  );

  test.skipIf(!HAS_PYTHON)(
    "tools/verify.py says the same",
    async () => {
      const paths = cases.map(({ text }, index) => {
        const path = join(root, "cases", String(index));
        writeFileSync(path, text);
        return path;
      });
      const wrong: unknown[] = [];
      for (const who of ["0", "3"]) {
        const said = await verify([givenKey(who)], paths);
        for (const [index, { name, text, verdicts }] of cases.entries()) {
          const { report } = await verdictOf(paths[index] as string, text, [givenKey(who)]);
          const [ours, theirs] = [report, said[index]].map((one) =>
            codesOf((one?.problems ?? []).map(({ code }) => code)),
          );
          const good = said[index]?.verdict === verdicts[who] && Bun.deepEquals(theirs, ours);
          if (!good) wrong.push([name, who, ours, said[index]]);
        }
      }
      expect(wrong).toEqual([]);
    },
    PROCESS_TEST_MS,
  );

  test("one of several keys is enough, and a sentence says what is wrong with the others", async () => {
    const path = join(root, "cases/one");
    const honest = cases.filter(({ name }) => name.startsWith("after 3") && !name.slice(8).includes(":"));
    expect(honest).toHaveLength(8);
    for (const { text } of honest) {
      writeFileSync(path, text);
      for (const both of [
        [givenKey("stranger"), givenKey("1")],
        [givenKey("2"), givenKey("fingerprint")],
      ]) {
        expect((await verdictOf(path, text, both)).verdict).toBe("verified");
        if (HAS_PYTHON) expect((await verify(both, [path]))[0]?.verdict).toBe("verified");
      }
      for (const [who, words] of [
        ["stranger", "another log's key"],
        ["fingerprint", "is the fingerprint of this log's key"],
      ] as const) {
        const { report } = await verdictOf(path, text, [givenKey(who)]);
        expect(report.problems.at(-1)?.message).toContain(words);
        if (HAS_PYTHON) expect((await verify([givenKey(who)], [path]))[0]?.text).toContain(words);
      }
    }
  });

  test("a workspace's file is verified with each of its keys", async () => {
    for (const { path } of databases) {
      for (const who of EVERYBODY) {
        const { publicKeys } = readTrust({ publicKey: [givenKey(who)] });
        const verdict = Number(who) >= 0 ? "verified" : "undetermined";
        expect((await verifyDatabaseFile({ path, immutable: false }, { path, publicKeys })).verdict).toBe(verdict);
        if (HAS_PYTHON) expect((await verify([givenKey(who)], [path]))[0]).toMatchObject({ verdict });
      }
    }
  });
});
