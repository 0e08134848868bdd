/** Both programs verify the cosignatures of witnesses on seals, right and wrong ones. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createPublicKey, generateKeyPairSync } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  ed25519Signer,
  formatNote,
  formatVerifierKey,
  rawPublicKey,
  SIGNATURE_COSIGNATURE_V1,
  verifierKey,
} from "../../src/log/note.ts";
import { parseReceipt } from "../../src/log/receipt.ts";
import { makeSeal, parseOrigin, parseSeal } from "../../src/log/seal.ts";
import { governd } from "../cli/governd.ts";
import { inMemory } from "../temporary.ts";
import { vectorKey } from "../vectors/make.ts";
import { refused } from "../verify/policies.ts";
import { codesOf, HAS_PYTHON, SecondVerifier } from "../verify/second-verifier.ts";
import { makeBase, type Places, tamper } from "./base.ts";
import { throughServer } from "./through-server.ts";
import { TIME, Witness } from "./witness.ts";

const root = mkdtempSync(join(inMemory(), "governd-witnesses-"));
const [one, two, three] = [new Witness("w1.example"), new Witness("w2.example"), new Witness("w3.example")];
const four = new Witness("w4.example", "ml-dsa-44");
const idOf = ({ key }: Witness): string => key.split("+")[1] as string;
let base: Places;
/** A seal of another log. */
let foreignSeal: string;

const at = (name: string, text: string): string => {
  writeFileSync(join(root, name), text);
  return join(root, name);
};

const second = new SecondVerifier();
beforeAll(async () => {
  base = await makeBase(join(root, "base"), throughServer);
  const filed = readFileSync(base.otherSealFile, "utf8");
  foreignSeal = `${filed.split("\n\n").slice(0, 2).join("\n\n")}\n`;
});
afterAll(async () => {
  await second[Symbol.asyncDispose]();
  rmSync(root, { recursive: true });
});

/** Verifies evidence with both programs, which must agree. Returns the exit code and what each of them reports. */
async function verify(evidence: string, options: string[], key = base.publicKey) {
  const words = [evidence, "--public-key", key, ...options];
  const { code, out } = await governd(["verify", "--json", ...words]);
  const said = await second.run(...words);
  expect([said.code, said.out]).toEqual([code, expect.anything()]);
  const source = JSON.parse(out || "{}").sources?.[0];
  const codes = (source?.problems ?? []).map((problem: { code: string }) => problem.code);
  expect(codesOf(said.codes), said.out).toEqual(codesOf(codes));
  return { code, source, python: said.out };
}

const asked = (quorum: number | null, ...witnesses: Witness[]): string[] => [
  ...witnesses.flatMap(({ key }) => ["--witness-key", key]),
  ...(quorum === null ? [] : ["--witness-quorum", String(quorum)]),
];

/** Writes the receipt with its seal changed. Returns its path. */
const receiptWith = (change: (seal: string) => string): string => {
  const text = readFileSync(base.receipt, "utf8");
  const end = text.indexOf("\n\n") + 2;
  return at("receipt.txt", text.slice(0, end) + change(text.slice(end)));
};

describe.skipIf(!HAS_PYTHON)("witnesses", () => {
  test("a quorum of cosignatures is counted, named and required", async () => {
    const path = receiptWith((seal) => two.cosign(one.cosign(seal), TIME + 60n));
    for (const options of [asked(null, one, two), asked(2, one, two, three), asked(1, three, two), asked(1, one)]) {
      expect((await verify(path, options)).code).toBe(0);
    }
    const { source, python } = await verify(path, asked(2, one, two, three));
    const { size } = parseSeal(readFileSync(path, "utf8").split("\n\n").slice(1).join("\n\n"));
    expect(source.witnesses).toEqual([
      { name: "w1.example", key_id: idOf(one), through: size - 1, time: "2026-09-21T14:13:20.000Z" },
      { name: "w2.example", key_id: idOf(two), through: size - 1, time: "2026-09-21T14:14:20.000Z" },
    ]);
    expect(python).toContain(`w2.example through event ${size - 1} at 2026-09-21T14:14:20Z`);
    for (const options of [asked(null, one, two, three), asked(3, one, two, three), asked(1, three)]) {
      const { code, source: found } = await verify(path, options);
      expect([code, found.problems[0].code]).toEqual([2, "witness_missing"]);
    }
    const { source: found, python: said } = await verify(path, asked(null, one, two, three));
    for (const text of [found.problems[0].message, said]) {
      expect(text).toContain("2 of the 3 required witnesses have cosigned a seal of this log");
    }
  });

  test("a witness counts once, with its newest cosignature", async () => {
    const path = receiptWith((seal) => one.cosign(one.cosign(seal, TIME + 5n)));
    const { source } = await verify(path, asked(1, one, two));
    expect(source.witnesses).toEqual([expect.objectContaining({ time: "2026-09-21T14:13:25.000Z" })]);
    expect((await verify(path, asked(null, one, two))).code).toBe(2);
  });

  test("a witness with ML-DSA-44 counts; the second program names it as not checked", async () => {
    const path = receiptWith((seal) => four.cosign(one.cosign(seal), TIME + 60n));
    const { source, code, python } = await verify(path, asked(1, one, four));
    expect([code, source.witnesses.map(({ name }: { name: string }) => name)]).toEqual([0, [one.name, four.name]]);
    expect(python).toContain("not checked, since their cosignatures are ML-DSA-44: w4.example");
    const words = [path, "--public-key", base.publicKey, ...asked(null, one, four)];
    expect((await governd(["verify", ...words])).code).toBe(0);
    const said = await second.run(...words);
    expect([said.code, said.codes]).toEqual([2, ["witness_missing"]]);
    expect(said.out).toContain("1 of the 2 required");
    const wrong = receiptWith((seal) => four.cosign(seal, TIME, TIME + 1n));
    expect((await governd(["verify", wrong, "--public-key", base.publicKey, ...asked(1, four)])).code).toBe(1);
    const renamed = receiptWith((seal) => four.cosign(seal).replace("w4.example", "w5.example"));
    expect((await governd(["verify", renamed, "--public-key", base.publicKey, ...asked(1, four)])).code).toBe(2);
  });

  test("a witness with two keys of one name is two witnesses", async () => {
    const second = new Witness(one.name, "ml-dsa-44");
    const path = receiptWith((seal) => second.cosign(one.cosign(seal)));
    const { out, code } = await governd([
      ...["verify", path, "--json", "--public-key", base.publicKey],
      ...asked(2, one, second),
    ]);
    const [{ witnesses }] = JSON.parse(out).sources;
    expect([code, witnesses.map(({ key_id }: { key_id: string }) => key_id)]).toEqual([0, [idOf(one), idOf(second)]]);
  });

  test("a kept seal over a receipt's events counts, and another one contradicts it", async () => {
    const vector = (name: string) => join(import.meta.dir, "../vectors", name);
    const seal = readFileSync(vector("seal.txt"), "utf8");
    const { size, root: hash, origin } = parseSeal(seal);
    const keyed = (note: string, ...options: string[]) =>
      verify(vector("receipt.txt"), ["--seal", at("kept.seal", note), ...options], vector("seal.vkey"));
    const { code, source } = await keyed(one.cosign(seal), ...asked(1, one));
    expect([code, source.anchored_through, source.witnesses[0]?.through]).toEqual([0, expect.any(Number), size - 1]);
    const signer = ed25519Signer(origin, vectorKey().privateKey);
    const other = makeSeal({ origin, size, root: Uint8Array.from(hash, (byte) => byte ^ 1) }, [signer]);
    const contradicted = await keyed(other);
    expect([contradicted.code, contradicted.source.problems[0].code]).toEqual([1, "anchor_mismatch"]);
    const larger = makeSeal({ origin, size: size + 1, root: hash }, [signer]);
    expect(await keyed(larger)).toMatchObject({ code: 0, source: { anchored_through: null } });
    const flipped = formatNote({ ...parseSeal(other).note, signatures: parseSeal(seal).note.signatures });
    expect((await keyed(flipped)).source.problems[0].code).toBe("seal_missing");
    const wrong = await keyed(one.cosign(seal, TIME, TIME + 1n), ...asked(1, one));
    expect([wrong.code, wrong.source.problems[0].code]).toEqual([2, "seal_missing"]);
  });

  test("a policy stands for the keys, the witnesses and the quorum", async () => {
    const path = receiptWith((seal) => four.cosign(two.cosign(one.cosign(seal))));
    const { workspaceId } = parseOrigin(parseReceipt(readFileSync(path, "utf8")).seal.origin);
    const log = (name: string) =>
      `log ${formatVerifierKey(verifierKey(name, rawPublicKey(createPublicKey(readFileSync(base.publicKey)))))}`;
    const witnesses = [one, two, three, four].map(({ key }, at) => `witness w${at + 1} ${key}`);
    const groups = ["group old 2 w1 w2 w3", "group new any w4", "group both all old new"];
    /** Returns the exit codes of both programs, and the messages of the first. */
    const judged = async (lines: string[], ...options: string[]) => {
      const words = [path, "--policy", at("policy.txt", lines.join("\n")), ...options];
      const { code, out, err } = await governd(["verify", "--json", ...words]);
      const said = await second.run(...words);
      const messages: string[] =
        out === "" ? [] : JSON.parse(out).sources[0].problems.map(({ message }: Error) => message);
      return { codes: [code, said.code], messages: [...messages, err].join("\n"), python: said.out };
    };
    const own = log(`corpus.example/${workspaceId}`);
    const all = [own, ...witnesses, ...groups];
    for (const quorum of ["old", "w2", "none"]) {
      expect([quorum, (await judged([...all, `quorum ${quorum}`])).codes]).toEqual([quorum, [0, 0]]);
    }
    const newer = await judged([...all, "quorum both"]);
    expect([newer.codes, newer.python]).toEqual([[0, 2], expect.stringContaining("not checked")]);
    const lacking = await judged([...all, "quorum w3"]);
    const words = "0 of the 1 required members of the quorum w3 have cosigned a seal of this log";
    expect([lacking.codes, lacking.messages]).toEqual([[2, 2], expect.stringContaining(words)]);
    expect(lacking.python).toContain(words);
    const unlisted = await judged([log("corpus.example/ws_00000000000000000000000000"), "quorum none"]);
    expect([unlisted.codes, unlisted.messages]).toEqual([[2, 2], expect.stringContaining(`no log of ${workspaceId}`)]);
    const later = await judged([log(`corpus.example/${workspaceId}/912345678912345`), "quorum none"]);
    expect(later.codes).toEqual([0, 0]);
    for (const options of [["--public-key", base.publicKey], asked(null, one), ["--witness-quorum", "1"]]) {
      expect((await judged([own, "quorum none"], ...options)).codes).toEqual([2, 2]);
    }
    expect((await governd(["verify", path, "--policy", join(root, "none")])).code).toBe(2);
    for (const [name, lines, message] of refused) {
      const { codes, messages } = await judged(lines);
      expect([name, codes, messages]).toEqual([
        name,
        [2, 2],
        expect.stringContaining(`policy.txt, ${message.slice(0, 6)}`),
      ]);
    }
  });

  test("a cosignature without a time does not count", async () => {
    expect(
      (
        await verify(
          receiptWith((seal) => one.cosign(seal, 0n)),
          asked(1, one),
        )
      ).code,
    ).toBe(2);
  });

  test("a cosignature that is wrong is tampering, and one of an unknown witness is nothing", async () => {
    const wrong: [string, (seal: string) => string][] = [
      ["of another time", (seal) => one.cosign(seal, TIME, TIME + 1n)],
      ["of another log's seal", (seal) => seal + one.cosign(foreignSeal).slice(foreignSeal.length)],
      [
        "damaged",
        (seal) => one.cosign(seal).replace(/.(=*\n)$/, (end) => (end.startsWith("A") ? "Q" : "A") + end.slice(1)),
      ],
      ["beside a right one", (seal) => one.cosign(one.cosign(seal), TIME, TIME + 1n)],
    ];
    for (const [name, change] of wrong) {
      const path = receiptWith(change);
      expect([name, (await verify(path, asked(1, one))).code]).toEqual([name, 1]);
      expect([name, (await verify(path, asked(1, two))).code]).toEqual([name, 2]);
      expect([name, (await verify(path, [])).code]).toEqual([name, 0]);
    }
  });

  test("cosignatures in a workspace's file and under kept seals count; those of another log do not", async () => {
    const seal = readFileSync(base.earlySeal, "utf8");
    expect((await verify(base.database, asked(1, one))).code).toBe(2);
    const kept = at("kept.seal", one.cosign(seal));
    for (const evidence of [base.database, base.ndjson, base.json]) {
      const { code, source } = await verify(evidence, [...asked(1, one), "--seal", kept]);
      expect([code, source.witnesses[0]?.through]).toEqual([0, parseSeal(seal).size - 1]);
    }
    // A kept seal that is damaged proves nothing about the log.
    const damaged = at("damaged.seal", one.cosign(seal, TIME, TIME + 1n));
    expect((await verify(base.ndjson, [...asked(1, one), "--seal", damaged])).code).toBe(2);
    const foreign = at("foreign.seal", one.cosign(foreignSeal));
    expect((await verify(base.ndjson, [...asked(1, one), "--seal", foreign])).code).toBe(2);
    tamper(base.database, (connection) => {
      const [note = ""] = connection.get<[string]>("SELECT note FROM seals ORDER BY id DESC LIMIT 1") ?? [];
      connection.run("UPDATE seals SET note = ? WHERE id = (SELECT max(id) FROM seals)", [
        two.cosign(one.cosign(note)),
      ]);
    });
    const { code, source } = await verify(base.database, asked(2, one, two, three));
    expect([code, source.witnesses.length]).toEqual([0, 2]);
    tamper(base.database, (connection) => {
      const [note = ""] = connection.get<[string]>("SELECT note FROM seals ORDER BY id DESC LIMIT 1") ?? [];
      const wrong = three.cosign(note, TIME, TIME + 1n);
      connection.run("UPDATE seals SET note = ? WHERE id = (SELECT max(id) FROM seals)", [wrong]);
    });
    expect((await verify(base.database, asked(2, one, two, three))).code).toBe(1);
  });

  test("keys that are no witness's, the same key twice, and a quorum that cannot be reached are refused", async () => {
    const asLog = formatVerifierKey(verifierKey("w1.example", rawPublicKey(generateKeyPairSync("ed25519").publicKey)));
    const renamed = formatVerifierKey({ ...verifierKey("other.example", keyBytes(one), SIGNATURE_COSIGNATURE_V1) });
    for (const options of [
      ["--witness-key", asLog],
      ["--witness-key", "x"],
      asked(3, one, two),
      asked(1),
      [...asked(null, one), "--witness-key", renamed],
    ]) {
      expect((await verify(base.receipt, options)).code).toBe(2);
    }
  });
});

const keyBytes = ({ key }: Witness): Uint8Array => Buffer.from(key.split("+").slice(2).join("+"), "base64").subarray(1);
