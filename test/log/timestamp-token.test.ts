/** What tokens of time stamp authorities prove (RFC 3161), right and forged ones. */
import { beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ed25519Signer, formatNote, parseNote } from "../../src/log/note.ts";
import { makeSeal, parseSeal } from "../../src/log/seal.ts";
import { stampedText, timestampLine, timestampLines } from "../../src/log/timestamp.ts";
import { readAuthorities, TimestampError, TimestampToken, tokenIn } from "../../src/log/timestamp-token.ts";
import { SEED } from "../seed.ts";
import { Seeded } from "../seeded.ts";
import { asCertificate, forgeToken, type Holder, issue, TIME_STAMPING } from "./forged-token.ts";
import { newKey } from "./sealed.ts";

const TEXT = "what is stamped\n";
const NOT_FROM = "its certificate does not lead to a given authority, or was not valid at its time";
let root: Holder;
let middle: Holder;
let signer: Holder;

beforeAll(async () => {
  root = await issue("Root", { isAuthority: true, from: -900, to: 900 });
  middle = await issue("Middle", { issuer: root, isAuthority: true, from: -800, to: 800 });
  signer = await issue("Stamps", { issuer: middle, from: -400, to: -100 });
});

/** Why a token is not from somebody that a given root leads to; null when it is. */
const whyNot = (token: Uint8Array, ...trusted: Holder[]) =>
  TimestampToken.read(token).whyNotFrom((trusted.length > 0 ? trusted : [root]).map(asCertificate));

describe("a token", () => {
  test("names its time and its authority, and covers one text", async () => {
    const token = TimestampToken.read(await forgeToken(TEXT, signer, { days: -200 }));
    expect([token.authority, Math.round((Date.now() - token.time.getTime()) / 86_400_000)]).toEqual(["Stamps", 200]);
    expect([await token.covers(TEXT), await token.covers("another\n")]).toEqual([true, false]);
  });

  test("is judged at its own time, by certificates that may have ended since", async () => {
    const certificates = [signer, middle];
    expect(await whyNot(await forgeToken(TEXT, signer, { days: -200, certificates }))).toBeNull();
    for (const days of [0, -450]) {
      expect(await whyNot(await forgeToken(TEXT, signer, { days, certificates }))).toBe(NOT_FROM);
    }
  });

  test("needs a path to a given certificate, of which the file may hold a part", async () => {
    const token = await forgeToken(TEXT, signer, { days: -200 });
    expect(await whyNot(token)).toBe(NOT_FROM);
    expect(await whyNot(token, root, middle)).toBeNull();
    expect(await whyNot(token, root, middle, signer)).toBeNull();
    const other = await issue("Root", { isAuthority: true, from: -900, to: 900 });
    expect(await whyNot(await forgeToken(TEXT, signer, { days: -200, certificates: [signer, middle] }), other)).toBe(
      NOT_FROM,
    );
  });

  test("is from nobody whose certificate is for anything else than time stamps", async () => {
    const wishes: Parameters<typeof issue>[1][] = [
      ...[{ usage: null }, { usage: ["1.3.6.1.5.5.7.3.1"] }, { usage: [TIME_STAMPING, "1.3.6.1.5.5.7.3.3"] }],
      ...[{ critical: false }, { isAuthority: true }],
    ];
    for (const wish of wishes) {
      const holder = await issue("Other", { issuer: root, ...wish });
      expect(await whyNot(await forgeToken(TEXT, holder))).toContain("extended key usage");
    }
    expect(await whyNot(await forgeToken(TEXT, await issue("Good", { issuer: root })))).toBeNull();
  });

  test("by a stranger is not saved by certificates of an authority that it also holds", async () => {
    const good = await issue("Good", { issuer: root });
    const stranger = await issue("Good");
    const impostor = await issue("Good", { issuer: { cert: root.cert, keys: stranger.keys } });
    const end = await issue("End", { issuer: good });
    for (const forger of [stranger, impostor, end]) {
      for (const certificates of [
        [forger, good, root],
        [good, forger],
        [forger, good, forger],
        [forger, forger, good],
        [good, forger, forger, good],
        [forger, root, good, forger, root],
      ]) {
        const token = await forgeToken(TEXT, forger, { certificates });
        const read = TimestampToken.read(token);
        const why = await read.whyNotFrom([asCertificate(root)]);
        expect(why === null && (await read.covers(TEXT))).toBe(false);
      }
    }
  });

  test("has one form", async () => {
    const token = await forgeToken(TEXT, signer);
    const wrong: [string, Uint8Array][] = [
      ["cannot be read", new Uint8Array()],
      ["cannot be read", Buffer.from("<html>")],
      ["cannot be read", token.subarray(0, -1)],
      ["something follows", Buffer.concat([token, Buffer.of(0)])],
      ["is no time stamp", await forgeToken(TEXT, signer, { contentType: "1.2.840.113549.1.7.1" })],
      ["lacks its signer's certificate", await forgeToken(TEXT, signer, { certificates: [middle] })],
      ["too many", await forgeToken(TEXT, signer, { certificates: Array.from({ length: 17 }, () => signer) })],
    ];
    for (const [message, bytes] of wrong) {
      expect(() => TimestampToken.read(bytes)).toThrow(TimestampError);
      expect(() => TimestampToken.read(bytes)).toThrow(message);
    }
    const old = TimestampToken.read(await forgeToken(TEXT, signer, { imprint: "1.3.14.3.2.26" }));
    expect(await old.covers(TEXT)).toBe(false);
  });

  test("of which any byte is changed is no token, or one that proves nothing else", async () => {
    const good = await issue("Good", { issuer: root });
    const token = await forgeToken(TEXT, good);
    const { time } = TimestampToken.read(token);
    const random = new Seeded(SEED);
    for (let round = 0; round < 150; round++) {
      const bytes = Uint8Array.from(token);
      const at = random.below(bytes.length);
      bytes[at] = (bytes[at] as number) ^ (1 << random.below(8));
      try {
        const read = TimestampToken.read(bytes);
        if ((await read.whyNotFrom([asCertificate(root)])) !== null || !(await read.covers(TEXT))) continue;
        expect(read.time).toEqual(time);
      } catch (error) {
        expect(error).toBeInstanceOf(TimestampError);
      }
    }
  });
});

test("the vector's time stamp is over its seal", async () => {
  const vector = (name: string) => readFileSync(join(import.meta.dir, "../vectors", name), "utf8");
  const seal = parseSeal(vector("stamped.txt"));
  const [line] = timestampLines(seal);
  const token = TimestampToken.read(line?.signature ?? new Uint8Array());
  expect([line?.name, token.authority]).toEqual(["tsa.example", "Vector Time Stamps"]);
  expect(await token.whyNotFrom(readAuthorities(vector("tsa-root.pem")))).toBeNull();
  expect([await token.covers(vector("seal.txt")), await token.covers(vector("cosigned.txt"))]).toEqual([true, false]);
});

test("an answer without a token is refused", () => {
  for (const answer of [Buffer.from(""), Buffer.from("<html>"), Buffer.from("30053003020100", "hex")]) {
    expect(() => tokenIn(answer)).toThrow(TimestampError);
  }
  expect(() => tokenIn(Buffer.from("30053003020102", "hex"))).toThrow("a refusal, status 2");
});

test("authorities are certificates in PEM", () => {
  expect(readAuthorities(`${root.cert.toString("pem")}\n${middle.cert.toString("pem")}`)).toHaveLength(2);
  for (const pem of ["", "x", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]) {
    expect(() => readAuthorities(pem)).toThrow(TimestampError);
  }
});

test("a token under a seal is a signature line, and is over what the daemon signed", () => {
  const { privateKey } = newKey();
  const origin = "governd.example/ws_1";
  const seal = makeSeal({ origin, size: 3, root: new Uint8Array(32) }, [ed25519Signer(origin, privateKey)]);
  const line = timestampLine("tsa.example:318", Buffer.from("token"));
  const { text, signatures } = parseNote(seal);
  const stamped = parseSeal(formatNote({ text, signatures: [...signatures, line, line] }));
  expect(stampedText(stamped)).toBe(seal);
  expect(timestampLines(stamped)).toEqual([line, line]);
  expect(timestampLines(parseSeal(seal))).toEqual([]);
});
