import { describe, expect, test } from "bun:test";
import { createPrivateKey, generateKeyPairSync, sign } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { CompactRange } from "../../src/log/merkle.ts";
import {
  checkSignature,
  ed25519Signer,
  formatNote,
  formatVerifierKey,
  NoteError,
  parseNote,
  parseVerifierKey,
  rawPublicKey,
  SIGNATURE_SUBTREE_V1,
  signNote,
  verifierKey,
} from "../../src/log/note.ts";
import { consistencyProof, inclusionProof } from "../../src/log/proof.ts";
import { makeReceipt, parseReceipt, ReceiptError, receiptProblem } from "../../src/log/receipt.ts";
import { checkSeal, makeSeal, parseSeal, sealedWorkspace, sealText } from "../../src/log/seal.ts";
import {
  addCheckpointBody,
  checkCosignature,
  cosignedAt,
  cosignedMessage,
  parseWitnessKey,
  withCosignatures,
} from "../../src/log/witness.ts";
import { eventFacts } from "../../src/operations.ts";
import { verifyConsistency } from "./consistency.ts";
import { formatCosignature, newWitnessKey, parseAddCheckpoint } from "./cosigning.ts";
import { sampleLog, typeId, WORKSPACE } from "./sample.ts";
import { MemoryTiles } from "./tree.ts";

const { privateKey } = generateKeyPairSync("ed25519");
const publicKey = rawPublicKey(privateKey);
const ORIGIN = `governd.example/${WORKSPACE}`;
const signer = ed25519Signer(ORIGIN, privateKey);

describe("signed notes (C2SP signed-note)", () => {
  // The example that Go's golang.org/x/mod/sumdb/note documents.
  const vkey = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
  const note =
    "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n\n" +
    "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";

  test("a note signed by another implementation verifies, and is written back as it was", () => {
    const key = parseVerifierKey(vkey);
    expect(formatVerifierKey(key)).toBe(vkey);
    const parsed = parseNote(note);
    expect(checkSignature(parsed, key)).toBe("good");
    expect(formatNote(parsed)).toBe(note);
    expect(checkSignature(parseNote(note.replace("think", "thimk")), key)).toBe("bad");
    expect(checkSignature(parsed, verifierKey("PeterNeumann", publicKey))).toBe("absent");
  });

  test("the key that the Go checksum database signs with has its key id", () => {
    const text = "sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8";
    expect(parseVerifierKey(text).keyId).toBe(0x033de0ae);
    expect(() => parseVerifierKey(text.replace("033d", "033e"))).toThrow(NoteError);
  });

  test("what is signed here verifies; a bad signature beside a good one counts", () => {
    const text = "one\n\ntwo\n";
    const parsed = parseNote(signNote(text, [signer]));
    const key = verifierKey(ORIGIN, publicKey);
    expect(parsed.text).toBe(text);
    expect(checkSignature(parsed, key)).toBe("good");
    const [own] = parsed.signatures as [(typeof parsed.signatures)[number]];
    const bad = { ...own, signature: Buffer.alloc(64) };
    expect(checkSignature({ text, signatures: [own, bad] }, key)).toBe("bad");
  });

  test.each([
    ["no empty line", note.replace("\n\n", "\n")],
    ["no signature", note.slice(0, note.indexOf("—"))],
    ["no newline at the end", note.slice(0, -1)],
    ["a hyphen for the dash", note.replace("—", "-")],
    ["two spaces", note.replace("— Peter", "—  Peter")],
    ["a control character", note.replace("think", "thi\tnk")],
    ["base64 with loose bits", note.replace("nAM=", "nAN=")],
    ["a line between", note.replace("\n— ", "\nx\n— ")],
    ["a carriage return", note.replaceAll("\n", "\r\n")],
    ["a short signature", "a\n\n— k AAAA\n"],
  ])("%s is refused", (_, bad) => {
    expect(() => parseNote(bad)).toThrow(NoteError);
  });

  test("names and texts that could not be read back are not signed", () => {
    for (const name of ["", "a b", "a+b", "a\u00a0b"]) expect(() => verifierKey(name, publicKey)).toThrow(NoteError);
    for (const text of ["", "no newline", "tab\t\n", "\ud800\n"])
      expect(() => signNote(text, [signer])).toThrow(NoteError);
    expect(() => signNote("x\n", [])).toThrow(NoteError);
  });
});

describe("seals (C2SP tlog-checkpoint)", () => {
  const root = new Uint8Array(32).fill(7);
  const text = makeSeal({ origin: ORIGIN, size: 12, root }, [signer]);

  test("are three lines and a signature under the origin", () => {
    expect(text).toStartWith(`${ORIGIN}\n12\nBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=\n\n— ${ORIGIN} `);
    const seal = parseSeal(text);
    expect(seal).toMatchObject({ origin: ORIGIN, size: 12, root: Buffer.from(root) });
    expect(sealedWorkspace(seal)).toBe(WORKSPACE);
    expect(checkSeal(seal, publicKey)).toBe("good");
    expect(checkSeal(seal, rawPublicKey(generateKeyPairSync("ed25519").publicKey))).toBe("absent");
  });

  test("the example of C2SP tlog-checkpoint is read", () => {
    const seal = parseSeal(
      "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n" +
        "— example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n",
    );
    expect(seal).toMatchObject({ origin: "example.com/behind-the-sofa", size: 20852163 });
  });

  test.each([1, 16, 64, 128])("any byte changed by %p is refused or not signed", (bit) => {
    for (let at = 0; at < text.length; at++) {
      const bad = text.slice(0, at) + String.fromCharCode(text.charCodeAt(at) ^ bit) + text.slice(at + 1);
      let verdict = "refused";
      try {
        verdict = checkSeal(parseSeal(bad), publicKey);
      } catch (error) {
        expect(error).toBeInstanceOf(NoteError);
      }
      expect([at, verdict]).not.toEqual([at, "good"]);
    }
  });

  test.each(["012", "-1", "1e3", "", "9007199254740993", " 1"])("tree size %p is refused", (size) => {
    expect(() => parseSeal(text.replace("\n12\n", `\n${size}\n`))).toThrow(NoteError);
  });

  test("extension lines are refused, and so is an origin with a space or plus", () => {
    expect(() => parseSeal(signNote(`${sealText(ORIGIN, 1, root)}more\n`, [signer]))).toThrow(NoteError);
    for (const origin of ["", "a b", "a+b", "a\nb"]) expect(() => sealText(origin, 1, root)).toThrow(NoteError);
  });
});

/** A sealed log: events, tree, seal. */
async function sealed(count: number) {
  const log = sampleLog(count);
  const tiles = new MemoryTiles();
  const frontier = new CompactRange();
  for (const { hash } of log.events) {
    tiles.tail.push(Buffer.from(hash, "hex"));
    frontier.append(Buffer.from(hash, "hex"));
  }
  return { log, tiles, frontier, seal: makeSeal({ origin: ORIGIN, size: count, root: frontier.root() }, [signer]) };
}

describe("receipts (C2SP tlog-proof)", () => {
  test("prove each event with the public key alone, erased or not", async () => {
    const { log, tiles, seal } = await sealed(21);
    for (const [seq, stored] of log.events.entries()) {
      const path = await inclusionProof(seq, 21, tiles);
      const text = makeReceipt(stored, path, seal, { vocabulary: 1 });
      expect(text).toStartWith("c2sp.org/tlog-proof@v1\nextra ");
      const receipt = parseReceipt(text);
      expect(receipt).toMatchObject({ index: seq, event: { seq } });
      expect(receiptProblem(receipt, publicKey)).toBeNull();
      const erased = parseReceipt(makeReceipt({ ...stored, details: null, salt: null }, path, seal, { vocabulary: 1 }));
      // Nothing can erase the details of other operations.
      const canBeErased = (eventFacts(receipt.event.operation)?.erasedBy.length ?? 0) > 0;
      const problem = canBeErased ? null : expect.stringContaining("nothing can erase");
      expect(receiptProblem(erased, publicKey)).toEqual(problem);
    }
  });

  test("any byte changed is found", async () => {
    const { log, tiles, seal } = await sealed(9);
    const text = makeReceipt(log.events[5] as never, await inclusionProof(5, 9, tiles), seal, { vocabulary: 1 });
    for (let at = 0; at < text.length; at++) {
      const bad = text.slice(0, at) + String.fromCharCode(text.charCodeAt(at) ^ 1) + text.slice(at + 1);
      let problem: string | null = "refused";
      try {
        problem = receiptProblem(parseReceipt(bad), publicKey);
      } catch (error) {
        expect(error).toBeInstanceOf(ReceiptError);
      }
      expect([at, problem]).not.toEqual([at, null]);
    }
  });

  test("a receipt of another event, another seal, another key or another workspace does not hold", async () => {
    const { log, tiles, seal } = await sealed(9);
    const other = await sealed(8);
    const path = await inclusionProof(5, 9, tiles);
    const problem = (index: number, by: string): string | null =>
      receiptProblem(parseReceipt(makeReceipt(log.events[index] as never, path, by, { vocabulary: 1 })), publicKey);
    expect(problem(5, seal)).toBeNull();
    expect(problem(4, seal)).toContain("does not lead");
    expect(problem(5, other.seal)).toContain("does not lead");
    const stranger = rawPublicKey(generateKeyPairSync("ed25519").publicKey);
    expect(
      receiptProblem(parseReceipt(makeReceipt(log.events[5] as never, path, seal, { vocabulary: 1 })), stranger),
    ).toContain("signed");
    const foreign = `governd.example/${typeId("ws", 3)}`;
    const parsed = parseSeal(seal);
    const theirs = makeSeal({ ...parsed, origin: foreign }, [ed25519Signer(foreign, privateKey)]);
    expect(problem(5, theirs)).toContain("another workspace");
  });
});

describe("witnesses (C2SP tlog-witness, tlog-cosignature)", () => {
  test.each(["ed25519", "ml-dsa-44"] as const)(
    "a seal is submitted, proved consistent, cosigned with %s, and carries the cosignature",
    async (algorithm) => {
      const { frontier, tiles, seal } = await sealed(30);
      const witness = newWitnessKey("witness.example/w1", algorithm);
      const { key } = witness;
      expect(parseWitnessKey(formatVerifierKey(key))).toEqual(key);
      expect(() => parseVerifierKey(formatVerifierKey(key))).toThrow("has type");
      const older = await sealed(12);
      const body = addCheckpointBody(12, await consistencyProof(12, 30, tiles), seal);
      const asked = parseAddCheckpoint(body);
      expect(checkSeal(asked.seal, publicKey)).toBe("good");
      expect(verifyConsistency({ size: 12, root: older.frontier.root() }, asked.seal, asked.proof)).toBe(true);
      const time = 1_679_315_147n;
      const cosign = (at: bigint) =>
        formatCosignature(key, at, sign(null, cosignedMessage(asked.seal, key, at), witness.privateKey));
      const answer = cosign(time);
      const cosigned = withCosignatures(seal, `— other.example AAAAAAAA\n${answer}`, [key]);
      expect(cosigned).toBe(seal + answer);
      const parsed = parseSeal(cosigned);
      expect(checkSeal(parsed, publicKey)).toBe("good");
      expect(parsed.root).toEqual(Buffer.from(frontier.root()));
      expect(checkCosignature(parsed, parsed.note.signatures[1] as never, key)).toBe(time);
      const wrong = formatCosignature(
        key,
        time + 1n,
        (parsed.note.signatures[1] as { signature: Uint8Array }).signature.subarray(8),
      );
      expect(() => withCosignatures(seal, wrong, [key])).toThrow(NoteError);
      expect(() => withCosignatures(seal, "<html>\n", [key])).toThrow(NoteError);
      expect(() => withCosignatures(seal, cosign(0n), [key])).toThrow(NoteError);
      expect([
        cosignedAt(parseSeal(seal + cosign(0n)), key),
        cosignedAt(parseSeal(cosigned + cosign(5n)), key),
      ]).toEqual([...[null, time]]);
      expect(parseAddCheckpoint(addCheckpointBody(0, [], seal))).toMatchObject({ oldSize: 0, proof: [] });
      for (const bad of ["", "old 1\n", body.replace("old 12", "old 012"), body.replace("\n\n", "\nx\n\n")]) {
        expect(() => parseAddCheckpoint(bad)).toThrow(NoteError);
      }
    },
  );

  test("a cosignature that another implementation of ML-DSA-44 made verifies", () => {
    const vector = (name: string) => readFileSync(join(import.meta.dir, "../vectors", name), "utf8");
    const key = parseWitnessKey(vector("witness.vkey").trim());
    expect(cosignedAt(parseSeal(vector("cosigned.txt")), key)).toBe(1_790_000_000n);
    const other = { ...parseSeal(vector("cosigned.txt")), size: 20 };
    expect(() => cosignedAt(other, key)).toThrow("not right");
  });

  test("a key whose name subtree/v1 cannot sign is refused", () => {
    const key = newWitnessKey("w".repeat(256), "ml-dsa-44").key;
    expect(() => parseWitnessKey(formatVerifierKey(key))).toThrow("at most 255 bytes");
    expect(() => verifierKey("w", new Uint8Array(32), SIGNATURE_SUBTREE_V1)).toThrow("another length");
  });

  test("a key in PKCS#8 PEM signs like any other", () => {
    const pem = privateKey.export({ format: "pem", type: "pkcs8" });
    const again = ed25519Signer(ORIGIN, createPrivateKey(pem));
    expect(signNote("x\n", [again])).toBe(signNote("x\n", [signer]));
  });
});
