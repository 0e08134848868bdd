/**
 * Logs that were restored: as governd makes them, as somebody without the key can change them, and as somebody with the
 * key could make them. Both programs must say the same of each, with the seals that an auditor may have kept.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newSealKey, readSealKey } from "../../src/core/datadir/seal-key.ts";
import { treeRoot } from "../../src/core/rows/log/tree.ts";
import { SealKeyring } from "../../src/core/seals/keyring.ts";
import { WorkspaceSealer } from "../../src/core/seals/sealer.ts";
import { createWorkspaceFile, openWorkspaceFile } from "../../src/core/writer/file.ts";
import { readHead } from "../../src/core/writer/head.ts";
import { answered } from "../../src/core/writer/operation.ts";
import { WorkspaceWriter } from "../../src/core/writer/perform.ts";
import type { JsonObject, JsonValue } from "../../src/json.ts";
import { canonicalEvent, formProblem, parseEvent } from "../../src/log/event.ts";
import { eventHash, saltedDigest } from "../../src/log/hash.ts";
import { canonicalJson } from "../../src/log/jcs.ts";
import { ed25519Signer, fingerprintOf, verifierKey } from "../../src/log/note.ts";
import { makeSeal, parseSeal } from "../../src/log/seal.ts";
import type { OperationInputs } from "../../src/operations.ts";
import { streamExport } from "../../src/ops/audit/export.ts";
import { jobOf } from "../../src/serve/threads/registry.ts";
import { type Connection, openConnection } from "../../src/store/connection.ts";
import type { Verdict } from "../../src/verify/problems.ts";
import { EXIT_CODES, type SourceResult } from "../../src/verify/report.ts";
import { verifyDatabaseFile, verifyExportFile } from "../../src/verify/sources.ts";
import { readTrust } from "../../src/verify/trust.ts";
import { HAS_GO } from "../go.ts";
import { PROCESS_TEST_MS } from "../patience.ts";
import { setEvent, storedEvents } from "../support/event-rows.ts";
import { inMemory } from "../temporary.ts";
import { ThirdVerifier } from "../third-verifier/third-verifier.ts";
import { codesOf, HAS_PYTHON, SecondVerifier } from "../verify/second-verifier.ts";
import { tamper } from "./base.ts";
import { moveHead, restateLast } from "./rewrite.ts";

const ID = "ws_01h455vb4pex5vsknk084sn02q";
const BASE = `corpus.example/${ID}`;
const root = mkdtempSync(join(inMemory(), "governd-epochs-"));
const keyFile = join(root, "key");
writeFileSync(keyFile, newSealKey());
const key = readSealKey({ kind: "file", path: keyFile });
const publicKey = Buffer.from(key.publicBytes).toString("hex");
const stranger = readSealKey({ kind: "pem", pem: newSealKey() });
const principal = { actor: "usr_01h455vb4pex5vsknk084sn02q", workspaceId: ID, scope: "full", agents: null } as const;
/** A restore, as its event states it, and what it ended. */
const RESTORE = { operation: "log.restore", result: "ok", blocked_by: null, actor: "cli" } as const;
const NOTHING_LEFT_OUT = { rights: "kept", later: null };
let files = 0;

/** A log in a file of its own. */
class Log {
  connection: Connection;
  /** Whether its restore does not have the form of one. */
  isForged = false;
  #writer: WorkspaceWriter;

  constructor(readonly path: string) {
    this.connection = openWorkspaceFile(path);
    this.#writer = this.#newWriter();
  }

  #newWriter(): WorkspaceWriter {
    const keyring = new SealKeyring({ kind: "file", path: keyFile });
    const sealer = new WorkspaceSealer({ keyring, file: `${this.path}.log` });
    return new WorkspaceWriter(this.connection, { sealer });
  }

  static async create(): Promise<Log> {
    const path = join(root, `${files++}.db`);
    const sealKey = verifierKey(BASE, key.publicBytes);
    await createWorkspaceFile(path, { workspaceId: ID, name: "corpus", actor: "cli", sealKey });
    return new Log(path);
  }

  /** Copies the file, as a backup does. Close the log first. */
  copy(): Log {
    const path = join(root, `${files++}.db`);
    copyFileSync(this.path, path);
    return new Log(path);
  }

  get size(): number {
    return readHead(this.connection).seq + 1;
  }

  /** Writes until the log has `size` events, and seals them. */
  async grow(size: number, sealed = true): Promise<this> {
    while (this.size < size) {
      const input = { agentId: "alpha", key: `k${this.size}`, value: `${files}`, metadata: {} };
      await this.#writer.perform([jobOf({ name: "data.write", input, principal })]);
    }
    if (sealed) await this.#writer.seal();
    return this;
  }

  /** Declares a restore with the epoch that it begins; null: without any. */
  async restore(epoch: JsonObject | null): Promise<this> {
    const { seq, hash } = readHead(this.connection);
    const of = { backup_created_at: "2026-01-01T00:00:00.000Z", backup_digest: "0".repeat(64), ...NOTHING_LEFT_OUT };
    const details = { ...of, head_seq: seq, head_hash: hash, ...epoch };
    // The writer makes no restore without an epoch, or with one of another form: these are forged in its place.
    const isWhole = epoch !== null && formProblem({ ...RESTORE, agent_id: null }, details, null) === null;
    const recorded = isWhole ? details : { ...details, ...epochOf(2) };
    const job = { operation: "log.restore", principal: { ...principal, actor: "cli" } } as const;
    const replies = await this.#writer.perform([{ ...job, run: async () => answered(null, recorded, "{}") }]);
    expect(replies[0]?.auditId).toBeString();
    if (!isWhole) {
      this.isForged = true;
      this.close();
      tamper(this.path, (connection) => restateLast(connection, () => details));
      this.connection = openWorkspaceFile(this.path);
      this.#writer = this.#newWriter();
    }
    if (typeof epoch?.origin === "string" && /^[^\s+]+$/.test(epoch.origin)) {
      const text = verifierText(epoch.origin);
      this.connection.run("INSERT INTO seal_keys (announced_seq, verifier_key) VALUES (?, ?)", [seq + 1, text]);
    }
    return this;
  }

  /** Returns a seal over the first `size` events, with any key and under any origin. */
  async note(size: number, origin: string, by = key): Promise<string> {
    const tree = { origin, size, root: await treeRoot(this.connection, size) };
    return makeSeal(tree, [ed25519Signer(origin, by.privateKey)]);
  }

  async export(scope: OperationInputs["audit.export"]["scope"], window = {}): Promise<string> {
    const input = { scope, format: "ndjson", window } as const;
    const [reply] = await this.#writer.perform([jobOf({ name: "audit.export", input, principal })]);
    if (reply?.answer.kind !== "stream" || reply.answer.body.kind !== "export") throw new Error("no export");
    let text = "";
    for await (const piece of streamExport(this.connection, reply.answer.body, ID)) text += piece;
    return text;
  }

  close(): string {
    this.connection.truncateLog();
    this.#writer.close();
    return this.path;
  }
}

const verifierText = (origin: string): string => {
  const { name, keyId, type, publicKey: bytes } = verifierKey(origin, key.publicBytes);
  return `${name}+${keyId.toString(16).padStart(8, "0")}+${Buffer.from([type, ...bytes]).toString("base64")}`;
};

/** Returns the members of an epoch that names lost seals. */
function epochOf(number: number, previous = BASE, notes: readonly string[] = []): JsonObject {
  const lost = notes.map((note) => {
    const { origin, size, root: hash } = parseSeal(note);
    return { origin, size, root: Buffer.from(hash).toString("hex") };
  });
  return {
    origin: `${BASE}/${number}`,
    previous_origin: previous,
    signing_key: fingerprintOf(key.publicBytes),
    last_seal: null,
    lost_seals: lost,
    lost_through: lost.length === 0 ? null : (lost.at(-1) as { size: number }).size - 1,
  };
}

interface Case {
  name: string;
  path: string;
  verdict: Verdict;
  /** A problem that governd reports. */
  code?: string;
  /** Seals that the auditor kept. */
  kept?: string[];
  /** The number of given seals that are explained. */
  explained?: number;
  /** The verdict without the key, where it differs. */
  keyless?: Verdict;
}
const cases: Case[] = [];

function changed(path: string, change: (connection: Connection) => void): string {
  const copy = join(root, `${files++}.db`);
  copyFileSync(path, copy);
  using connection = openConnection(copy);
  change(connection);
  connection.truncateLog();
  return copy;
}

/** Restores a backup with 5 events, whose original has 8, and seals the result at 6 and at 12 events, or never. */
async function restored(epoch: JsonObject | null, sealed = true): Promise<Log> {
  const log = await backup.copy().restore(epoch);
  if (sealed) await log.grow(6);
  return await log.grow(12, sealed);
}

let backup: Log;
const ROLLED = { verdict: "tampered", code: "rolled_back" } as const;
const ORIGIN = { verdict: "tampered", code: "seal_origin" } as const;
const INVALID = { verdict: "tampered", code: "restore_invalid" } as const;
const HONEST = { verdict: "verified" } as const;

beforeAll(async () => {
  backup = await (await Log.create()).grow(5);
  const before = await backup.note(5, BASE);
  backup.close();
  const original = await backup.copy().grow(8);
  const [lost7, lost8] = [await original.note(7, BASE), await original.note(8, BASE)];
  original.close();

  // Honest logs, and the seals that somebody may have kept of them.
  const plain = await restored(epochOf(2));
  const [new6, new12] = [await plain.note(6, `${BASE}/2`), await plain.note(12, `${BASE}/2`)];
  const [old6, old12, early5] = [
    await plain.note(6, BASE),
    await plain.note(12, BASE),
    await plain.note(5, `${BASE}/2`),
  ];
  const [third12, first12] = [await plain.note(12, `${BASE}/3`), await plain.note(12, `${BASE}/1`)];
  const beyond = await (async () => {
    plain.close();
    const longer = await plain.copy().grow(20);
    const note = await longer.note(20, `${BASE}/2`);
    longer.close();
    return note;
  })();
  const { path } = plain;
  cases.push(
    { name: "one restore", path, ...HONEST, kept: [before, new6, new12] },
    { name: "an unnamed lost seal", path, ...ROLLED, kept: [lost8] },
    { name: "an unnamed lost seal among others", path, ...ROLLED, kept: [before, lost7, new6] },
    { name: "a kept seal of the old origin over the restore", path, ...ROLLED, kept: [old6] },
    { name: "a kept seal of the old origin over all", path, ...ROLLED, kept: [old12] },
    { name: "a kept seal of the new origin before the restore", path, ...ORIGIN, kept: [early5] },
    { name: "a kept seal of an origin that never was", path, ...ORIGIN, kept: [third12] },
    { name: "a kept seal beyond the end", path, verdict: "tampered", code: "seal_beyond_log", kept: [beyond] },
    { name: "a kept seal of the new origin, and the backup", path: backup.path, verdict: "tampered", kept: [new12] },
    { name: "the backup, and its seal", path: backup.path, ...HONEST, kept: [before] },
  );
  const forked = await restored(epochOf(2));
  const fork = { verdict: "tampered", code: "anchor_mismatch" } as const;
  cases.push({ name: "two logs of one epoch", path: forked.close(), ...fork, kept: [new12] });

  const named = await restored(epochOf(2, BASE, [lost7, lost8]));
  const oldHere = await named.note(8, BASE);
  cases.push(
    { name: "named seals", path: named.close(), ...HONEST, kept: [lost8, before, lost7], explained: 2 },
    { name: "a named seal's origin over this log", path: named.path, ...ROLLED, kept: [oldHere] },
  );
  const otherRoot = { ...epochOf(2, BASE, [lost8]), lost_seals: [{ origin: BASE, size: 8, root: "0".repeat(64) }] };
  const otherName = { ...epochOf(3, BASE, [lost8]) };
  (otherName.lost_seals as JsonObject[])[0] = { ...(otherName.lost_seals as JsonObject[])[0], origin: `${BASE}/2` };
  for (const [name, epoch] of [
    ["another root", otherRoot],
    ["another size", epochOf(2, BASE, [lost7])],
    ["another origin", otherName],
  ] as const) {
    cases.push({ name: `a seal named with ${name}`, path: (await restored(epoch)).close(), ...ROLLED, kept: [lost8] });
  }
  const unsealed = (await restored(epochOf(2, BASE, [lost8]), false)).close();
  cases.push({ name: "a named seal, and no seal over the restore", path: unsealed, ...ROLLED, kept: [lost8] });
  const invented = await restored(epochOf(2, BASE, [lost8]), false);
  const byStranger = await invented.note(12, `${BASE}/2`, stranger);
  const claimed = changed(invented.close(), (one) => insertSeal(one, byStranger));
  cases.push({ name: "a named seal, and a stranger's seal", path: claimed, verdict: "tampered", kept: [lost8] });

  // Restores of restores.
  const second = plain.copy();
  await second.restore(epochOf(3, `${BASE}/2`));
  await second.grow(20);
  const [in3, in2] = [await second.note(20, `${BASE}/3`), await second.note(14, `${BASE}/2`)];
  cases.push(
    { name: "a restore of a restored log", path: second.close(), ...HONEST, kept: [before, new6, new12, in3] },
    { name: "epoch 2 in epoch 3", path: second.path, ...ROLLED, kept: [in2] },
    { name: "the first origin in epoch 3", path: second.path, ...ROLLED, kept: [old12] },
    { name: "a seal of epoch 2 that epoch 3 lost", path: second.path, ...ROLLED, kept: [beyond] },
  );
  const again = await restored(epochOf(3, BASE, [lost7, lost8, new12]));
  cases.push(
    { name: "the same backup restored twice", path: again.close(), ...HONEST, kept: [lost8, new12], explained: 2 },
    { name: "a seal of the lost epoch that is not named", path: again.path, ...ORIGIN, kept: [new6] },
  );
  const skipping = (await restored(epochOf(12))).close();
  cases.push({ name: "an epoch whose number skips others", path: skipping, ...HONEST, kept: [before] });

  const silent = await restored(null);
  cases.push({
    name: "a restore that begins no epoch",
    path: silent.close(),
    verdict: "tampered",
    code: "details_invalid",
  });

  // Seals that somebody with the key made and stored.
  const store = (note: string) => changed(path, (one) => insertSeal(one, note));
  for (const [name, note] of [
    ["the new origin before the restore", early5],
    ["the old origin over the restore", old6],
    ["the old origin over all", old12],
    ["an origin that never was", third12],
  ] as const) {
    cases.push({ name: `a stored seal of ${name}`, path: store(note), ...ORIGIN });
  }
  cases.push({ name: "a stored seal of epoch 1 by number", path: store(first12), verdict: "tampered" });

  // Restores that somebody with the key declared.
  const base = epochOf(3, BASE, [lost7, lost8]);
  const seals = base.lost_seals as JsonObject[];
  const zeros = "0".repeat(64);
  const wrong: [string, JsonObject][] = [
    ...Object.keys(base).map((name): [string, JsonObject] => {
      const { [name]: _left, ...rest } = base;
      return [`without ${name}`, rest];
    }),
    ...Object.keys(base).map((name): [string, JsonObject] => [
      `with a ${name} of another type`,
      { ...base, [name]: 1.5 },
    ]),
    ...[
      BASE,
      `${BASE}/1`,
      `${BASE}/02`,
      `${BASE}/x`,
      `${BASE}/3/4`,
      `other.example/${ID}/3`,
      `corpus.example/ws_x/3`,
    ].map((origin): [string, JsonObject] => [`with the origin ${origin}`, { ...base, origin }]),
    ["with another previous origin", { ...base, previous_origin: `${BASE}/2` }],
    ["with another key", { ...base, signing_key: fingerprintOf(stranger.publicBytes) }],
    ["with a lost seal that is not lost", { ...base, lost_seals: [{ ...seals[0], size: 5 }, seals[1]] as JsonValue }],
    ["with lost seals out of order", { ...base, lost_seals: [seals[1], seals[0]] as JsonValue, lost_through: 6 }],
    [
      "with a lost seal of its own epoch",
      { ...base, lost_seals: [{ ...seals[0], origin: `${BASE}/3` }, seals[1]] as JsonValue },
    ],
    [
      "with a lost seal of another host",
      { ...base, lost_seals: [{ ...seals[0], origin: `x.example/${ID}` }, seals[1]] as JsonValue },
    ],
    ["with a lost seal that has more members", { ...base, lost_seals: [{ ...seals[0], x: 1 }, seals[1]] as JsonValue }],
    [
      "with a root in capitals",
      { ...base, lost_seals: [{ ...seals[0], root: "A".repeat(64) }, seals[1]] as JsonValue },
    ],
    ["that lost less", { ...base, lost_through: 6 }],
    ["that lost more", { ...base, lost_through: 8 }],
    ["that lost something unnamed", { ...base, lost_seals: [] }],
    ["with a last seal that is lost and not named", { ...base, last_seal: { size: 9, root: zeros } }],
    ["with a last seal that has more members", { ...base, last_seal: { size: 5, root: zeros, x: 1 } }],
    ["with more lost seals than there may be", { ...base, lost_seals: Array<JsonObject>(1001).fill(seals[1] ?? {}) }],
  ];
  for (const [name, epoch] of wrong) {
    const log = await backup.copy().restore(epoch);
    const code = log.isForged ? "details_invalid" : "restore_invalid";
    cases.push({ name: `a restore ${name}`, path: (await log.grow(8, false)).close(), verdict: "tampered", code });
  }
  for (const [name, size, hash, verdict] of [
    ["the last seal", 5, parseSeal(before).root, "verified"],
    ["a last seal with another root", 5, Buffer.from(zeros, "hex"), "tampered"],
    ["a last seal with the root of another size", 4, parseSeal(before).root, "tampered"],
  ] as const) {
    const epoch = { ...epochOf(2), last_seal: { size, root: Buffer.from(hash).toString("hex") } };
    const code = verdict === "tampered" ? { code: "restore_invalid" } : {};
    cases.push({ name: `a restore that names ${name}`, path: (await restored(epoch)).close(), verdict, ...code });
  }
  const back = await plain.copy().restore(epochOf(2, `${BASE}/2`));
  cases.push({ name: "a second restore with the same number", path: (await back.grow(20, false)).close(), ...INVALID });

  // Changes by somebody without the key.
  const edits: [string, (connection: Connection) => void, string][] = [
    [
      "blanked",
      (one) => one.run("UPDATE events SET details = NULL, details_salt = NULL WHERE seq = 5"),
      "details_missing",
    ],
    [
      "edited",
      (one) => one.run(`UPDATE events SET details = replace(details, '${ID}/2', '${ID}/4') WHERE seq = 5`),
      "details_mismatch",
    ],
    ["removed", (one) => one.run("DELETE FROM events WHERE seq = 5"), "seq_gap"],
    [
      "made another operation",
      (one) => one.run("UPDATE events SET operation = 'log.nothing' WHERE seq = 5"),
      "hash_mismatch",
    ],
    [
      "moved",
      (one) =>
        one.exec(
          "UPDATE events SET seq = 99 WHERE seq = 5; UPDATE events SET seq = 5 WHERE seq = 6; UPDATE events SET seq = 6 WHERE seq = 99",
        ),
      "hash_mismatch",
    ],
    ["left without its key", (one) => one.run("DELETE FROM seal_keys WHERE announced_seq = 5"), "content_missing"],
    [
      "given another key's name",
      (one) => one.run("UPDATE seal_keys SET verifier_key = ? WHERE announced_seq = 5", [verifierText(`${BASE}/4`)]),
      "content_mismatch",
    ],
    ["rewritten", (one) => rewrite(one, (said) => ({ ...said, ...epochOf(4) })), "root_mismatch"],
  ];
  for (const [name, edit, code] of edits) {
    cases.push({ name: `a restore ${name}`, path: changed(path, edit), verdict: "tampered", code });
  }

  // Exports show the origin in force.
  const exported = plain.copy();
  const write = (name: string, text: string) => {
    const file = join(root, `${name}.ndjson`);
    writeFileSync(file, text);
    return file;
  };
  const whole = await exported.export({ scope: "workspace" });
  const size = exported.size;
  const seal = await exported.note(size, `${BASE}/2`);
  const others = [await exported.note(size, BASE), await exported.note(size, `${BASE}/3`)] as const;
  const window = await exported.export({ scope: "workspace" }, { startMs: Date.UTC(2020, 0, 1) });
  const agent = await exported.export({ agentId: "alpha" });
  const ofWindow = await exported.note(size + 1, BASE);
  exported.close();
  const sealOf = (text: string, note: string) =>
    text.replace(/"seal":"(?:[^"\\]|\\.)*"/, () => `"seal":${JSON.stringify(note)}`);
  cases.push(
    { name: "an export", path: write("whole", whole), ...HONEST, kept: [before, new12, seal] },
    { name: "an export, and a lost seal", path: write("whole", whole), ...ROLLED, kept: [lost8] },
    { name: "an export, and the old origin over all of it", path: write("whole", whole), ...ROLLED, kept: [others[0]] },
    { name: "an export sealed by the old origin", path: write("old", sealOf(whole, others[0])), ...ORIGIN },
    { name: "an export sealed by a later origin", path: write("later", sealOf(whole, others[1])), ...ORIGIN },
    { name: "a window", path: write("window", window), ...HONEST },
    { name: "a window sealed by the old origin", path: write("window-old", sealOf(window, ofWindow)), ...ORIGIN },
    { name: "an agent", path: write("agent", agent), ...HONEST },
  );
  const naming = named.copy();
  const explainedExport = write("explained", await naming.export({ scope: "workspace" }));
  naming.close();
  cases.push({ name: "an export, and a named seal", path: explainedExport, ...HONEST, kept: [lost8], explained: 1 });

  // Exports that do not hold all events show every restore beside them.
  const later = await named.copy().restore(epochOf(3, `${BASE}/2`));
  await later.grow(20);
  const parts: [string, string][] = [
    ["a window", await later.export({ scope: "workspace" }, { startMs: Date.UTC(2020, 0, 1) })],
    ["an agent", await later.export({ agentId: "alpha" })],
    ["a window without events", await later.export({ scope: "workspace" }, { endMs: Date.UTC(2020, 0, 1) })],
  ];
  later.close();
  const open = { verdict: "verified", keyless: "undetermined" } as const;
  for (const [name, text] of parts) {
    const changedTo = (what: string, change: (shown: JsonObject[], header: JsonObject) => JsonValue | undefined) => {
      const [first = "", ...lines] = text.split("\n");
      const header = JSON.parse(first) as JsonObject;
      const restores = change(structuredClone(header.restores) as JsonObject[], header);
      const about = JSON.stringify({ ...header, restores });
      return { name: `${name} ${what}`, path: write(`${name}-${what}`, [about, ...lines].join("\n")) };
    };
    const given = { name, path: write(name, text) };
    // Without the genesis and without a key, nothing says whose seal proves the restores.
    const hasGenesis = name === "a window";
    const keyless = hasGenesis ? {} : ({ keyless: "undetermined" } as const);
    cases.push(
      { ...given, ...HONEST },
      {
        ...given,
        name: `${name} and a named seal`,
        ...open,
        ...(hasGenesis ? { keyless: "verified" } : {}),
        kept: [lost8],
        explained: 1,
      },
      { ...given, name: `${name} and a lost seal that no restore names`, ...ROLLED, ...keyless, kept: [old12] },
      { ...changedTo("without the first restore", ([, last]) => [last as JsonObject]), verdict: "tampered" },
      { ...changedTo("without the last restore", ([one]) => [one as JsonObject]), verdict: "tampered" },
      { ...changedTo("without any", () => undefined), verdict: "tampered" },
      { ...changedTo("with an empty list", () => []), verdict: "tampered" },
      {
        ...changedTo("with its restores in another order", ([one, two]) => [two as JsonObject, one as JsonObject]),
        verdict: "tampered",
      },
      {
        ...changedTo("with a restore twice", ([one, two]) => [one as JsonObject, one as JsonObject, two as JsonObject]),
        verdict: "tampered",
      },
      {
        ...changedTo("with another event in its place", ([one, two], { binding }) => [
          { ...one, event: binding ?? null },
          two as JsonObject,
        ]),
        verdict: "tampered",
      },
      {
        ...changedTo("with another proof", ([one, two]) => [{ ...one, path: [zeros] }, two as JsonObject]),
        verdict: "tampered",
      },
      {
        ...changedTo("with blanked details", ([one, two]) => [
          { ...one, event: { ...(one as { event: JsonObject }).event, details: null, details_salt: null } },
          two as JsonObject,
        ]),
        verdict: "tampered",
      },
      {
        ...changedTo("with edited details", ([one, two]) => [
          {
            ...one,
            event: {
              ...(one as { event: JsonObject }).event,
              details: { ...((one as { event: JsonObject }).event.details as JsonObject), lost_seals: [] },
            },
          },
          two as JsonObject,
        ]),
        verdict: "tampered",
      },
      {
        ...changedTo("with one member more", ([one, two]) => [{ ...one, x: 1 }, two as JsonObject]),
        verdict: "tampered",
      },
    );
  }
}, PROCESS_TEST_MS);
afterAll(() => rmSync(root, { recursive: true }));

/** Stores a seal in the order of sizes. It replaces one of the same size. */
function insertSeal(connection: Connection, note: string): void {
  const rows = connection.all<[number, string]>("SELECT size, note FROM seals");
  const { size } = parseSeal(note);
  connection.run("DELETE FROM seals");
  for (const [other, text] of [...rows.filter(([one]) => one !== size), [size, note] as const].sort(
    ([a], [b]) => a - b,
  )) {
    connection.run("INSERT INTO seals (size, note) VALUES (?, ?)", [other, text]);
  }
}

/** Changes the details of the restore and makes everything after it fit, except the seals. */
function rewrite(connection: Connection, change: (said: JsonObject) => JsonObject): void {
  const heads = new Map<string | null, string>();
  for (const { seq, canonical, details, salt } of storedEvents(connection)) {
    const event = parseEvent(canonical);
    const said = seq === 5 ? canonicalJson(change(JSON.parse(details as string))) : (details as string);
    const details_commitment = saltedDigest(salt as string, said);
    const previous_hash = heads.get(event.agent_id) ?? event.previous_hash;
    const rewritten = { ...event, details_commitment, previous_hash };
    heads.set(event.agent_id, eventHash(canonicalEvent(rewritten)));
    connection.run(...setEvent(seq, rewritten));
    connection.run("UPDATE events SET details = ? WHERE seq = ?", [said, seq]);
  }
  moveHead(connection);
}

const keptFile = (kept: readonly string[]): string => {
  const path = join(root, "kept.log");
  writeFileSync(path, kept.map((note) => `${note}\n`).join(""));
  return path;
};

/** What governd says of each case, which the tests of both programs use. */
const reports = new Map<string, Promise<SourceResult>>();

function verified(one: Case, keys: string[]): Promise<SourceResult> {
  const name = `${cases.indexOf(one)} ${keys.join()}`;
  const report = reports.get(name) ?? verify(one, keys);
  reports.set(name, report);
  return report;
}

async function verify({ path, kept = [] }: Case, keys: string[]): Promise<SourceResult> {
  const trust = readTrust({ publicKey: keys, seal: kept.length > 0 ? [keptFile(kept)] : [] });
  if (path.endsWith(".ndjson")) return await verifyExportFile(1, { path, trust });
  return await verifyDatabaseFile({ path, immutable: false }, { path, ...trust });
}

describe("evidence of a log that was restored", () => {
  test("there is much of it", () => expect(cases.length).toBeGreaterThan(80));

  test(
    "governd verify says of each what it must, with and without the key",
    async () => {
      const wrong: unknown[] = [];
      for (const one of cases) {
        for (const keys of [[publicKey], []]) {
          const { verdict, report } = await verified(one, keys);
          const codes = report.problems.map(({ code }) => code as string);
          const explained = report.explained_seals?.length ?? 0;
          const other = keys.length === 0 && one.keyless !== undefined && one.keyless !== one.verdict;
          const expected = other ? one.keyless : one.verdict;
          const good = verdict === expected && (other || one.code === undefined || codes.includes(one.code));
          if (!good || explained !== (other ? 0 : (one.explained ?? 0)))
            wrong.push([one.name, keys.length, verdict, explained, report.problems]);
        }
      }
      expect(wrong).toEqual([]);
    },
    PROCESS_TEST_MS,
  );

  test.skipIf(!HAS_GO)(
    "so does the third verifier of each export",
    async () => {
      await using third = new ThirdVerifier();
      const wrong: unknown[] = [];
      for (const one of cases.filter(({ path }) => path.endsWith(".ndjson"))) {
        for (const keys of [[publicKey], []]) {
          const said = await third.run(one.path, { keys, seals: one.kept === undefined ? [] : [keptFile(one.kept)] });
          const expected = EXIT_CODES[(keys.length === 0 ? one.keyless : undefined) ?? one.verdict];
          if (said.code !== expected) wrong.push([one.name, keys.length, expected, said]);
        }
      }
      expect(wrong).toEqual([]);
    },
    120_000,
  );

  test.skipIf(!HAS_PYTHON)(
    "tools/verify.py says the same",
    async () => {
      await using second = new SecondVerifier();
      const wrong: unknown[] = [];
      for (const one of cases) {
        for (const keys of [[publicKey], []]) {
          const seals = one.kept === undefined ? [] : ["--seal", keptFile(one.kept)];
          const said = await second.run(...keys.flatMap((text) => ["--public-key", text]), ...seals, one.path);
          const { report } = await verified(one, keys);
          const codes = codesOf(report.problems.map(({ code }) => code));
          const expected = (keys.length === 0 ? one.keyless : undefined) ?? one.verdict;
          const good = said.code === EXIT_CODES[expected] && Bun.deepEquals(codesOf(said.codes), codes);
          if (!good) wrong.push([one.name, keys.length, codes, said]);
        }
      }
      expect(wrong).toEqual([]);
    },
    120_000,
  );
});
