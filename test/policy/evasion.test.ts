/** What is blocked stays blocked when it is disguised, and the finding still covers it in the original. */
import { expect, test } from "bun:test";
import type { JsonObject } from "../../src/json.ts";
import { decide } from "../../src/screen/decide.ts";
import { policiesOf } from "../../src/screen/policies.ts";
import { numbers } from "./random.ts";

const BOTH = policiesOf({ policies: { block_pii: true, block_secrets: true } });
const KEY = "q8Zt2LmW0vXr5Hs7Bd1Ky4Np";

const SECRETS: readonly (readonly [text: string, detector: string])[] = [
  ["write to anna.berg@posteo.de now", "email"],
  ["card 4929 7226 5379 7141", "credit_card"],
  ["her SSN is 543-21-9876", "us_ssn"],
  ["IBAN DE89370400440532013000", "iban"],
  ["date of birth: 1984-03-12", "date_of_birth"],
  ["client IP: 54.44.111.148", "ip_address"],
  [`api_key=${KEY}`, "generic_credential"],
  ["the password is Lark5502!x", "generic_credential"],
  [`token ghp_${KEY}q8Zt2LmW0vXr`, "provider_token"],
  ["postgres://app:s3cretPass@db.internal/app", "connection_string"],
];

const each = (text: string, change: (char: string) => string) => [...text].map(change).join("");
const code = (char: string) => char.charCodeAt(0);
const LOOK_ALIKES: Readonly<Record<string, string>> = {
  a: "а",
  e: "е",
  o: "о",
  p: "р",
  c: "с",
  s: "ѕ",
  i: "і",
  x: "х",
};

const hexOf = (bytes: Buffer) => bytes.toString("hex");
const pieces = (text: string, length: number) => text.match(new RegExp(`.{1,${length}}`, "gs")) as string[];
/** Long enough for several lines; the secret straddles two of them whatever their length is. */
const padded = (text: string) =>
  Buffer.from(`Notes of a day without events, and more such notes: ${text}. The end of the notes.`);
const utf16be = (text: string) => Buffer.from(text, "utf16le").swap16();
/** The lines of a dump: `width` bytes in groups of `group`, with offsets and the text of the bytes. */
const dump = (bytes: Buffer, line: (offset: string, bytes: Buffer, text: string) => string) =>
  pieces(bytes.toString("latin1"), 16)
    .map((text, i) => line((16 * i).toString(16).padStart(8, "0"), Buffer.from(text, "latin1"), text))
    .join("\n");
const quoted = (text: string) => each(text, (c) => `=${code(c).toString(16).toUpperCase().padStart(2, "0")}`);

const DISGUISES: Readonly<Record<string, (text: string) => string>> = {
  "full-width": (text) => each(text, (c) => (c > " " && c <= "~" ? String.fromCharCode(code(c) + 0xfee0) : c)),
  "mathematical letters and digits": (text) =>
    each(text, (c) =>
      /[a-z]/.test(c)
        ? String.fromCodePoint(0x1d5ba + code(c) - 97)
        : /\d/.test(c)
          ? String.fromCodePoint(0x1d7e2 + code(c) - 48)
          : c,
    ),
  "zero-width spaces": (text) => each(text, (c) => `${c}\u200b`),
  "soft hyphens": (text) => each(text, (c) => `${c}\u00ad`),
  "word joiners": (text) => each(text, (c) => `\u2060${c}`),
  "percent-escapes": (text) => each(text, (c) => `%${code(c).toString(16).padStart(2, "0")}`),
  "HTML decimal": (text) => each(text, (c) => `&#${code(c)};`),
  "HTML hexadecimal": (text) => each(text, (c) => `&#x${code(c).toString(16)};`),
  "JSON escapes": (text) => each(text, (c) => `\\u${code(c).toString(16).padStart(4, "0")}`),
  Base64: (text) => Buffer.from(text).toString("base64"),
  "URL-safe Base64 in a sentence": (text) =>
    `the note says ${Buffer.from(text).toString("base64url")} to whom it may concern`,
  hexadecimal: (text) => Buffer.from(text).toString("hex"),
  "Base64 in lines of 76": (text) => pieces(padded(text).toString("base64"), 76).join("\r\n"),
  "Base64 in lines of 64, in a mail": (text) =>
    `Content-Transfer-Encoding: base64\n\n${pieces(padded(text).toString("base64"), 64).join("\n")}\n--part-7f3c9a--\n`,
  "Base64 in indented lines of 50": (text) =>
    `data: |\n${pieces(padded(text).toString("base64"), 50)
      .map((line) => `  ${line}\n`)
      .join("")}next: 1\n`,
  "Base64 in lines that became spaces": (text) => pieces(padded(text).toString("base64"), 76).join(" "),
  "Base64 in lines, in JSON": (text) =>
    JSON.stringify({ body: pieces(padded(text).toString("base64"), 76).join("\n") }),
  "Base64 with escaped slashes": (text) => Buffer.from(text).toString("base64").replaceAll("/", "\\/"),
  "UTF-16LE in Base64": (text) => Buffer.from(text, "utf16le").toString("base64"),
  "UTF-16LE with its mark in lines of 76": (text) =>
    pieces(Buffer.from(`\ufeff${padded(text)}`, "utf16le").toString("base64"), 76).join("\n"),
  "UTF-16BE in Base64": (text) => utf16be(text).toString("base64"),
  "UTF-16BE with its mark in hexadecimal": (text) => hexOf(utf16be(`\ufeff${text}`)),
  "xxd -p": (text) => pieces(hexOf(padded(text)), 60).join("\n"),
  "xxd -p -c 25": (text) => pieces(hexOf(padded(text)), 50).join("\n"),
  "hexadecimal bytes with spaces": (text) => pieces(hexOf(Buffer.from(text)), 2).join(" "),
  "hexadecimal bytes with colons": (text) => pieces(hexOf(Buffer.from(text)).toUpperCase(), 2).join(":"),
  "hexadecimal bytes with hyphens": (text) => pieces(hexOf(Buffer.from(text)).toUpperCase(), 2).join("-"),
  "hexadecimal bytes in an array": (text) =>
    `{ ${pieces(hexOf(Buffer.from(text)), 2)
      .map((byte) => `0x${byte}`)
      .join(", ")} }`,
  "hexadecimal bytes in an array of lines": (text) =>
    `{\n${pieces(hexOf(Buffer.from(text)), 16)
      .map(
        (line) =>
          `  ${pieces(line, 2)
            .map((byte) => `0x${byte}`)
            .join(", ")},\n`,
      )
      .join("")}}`,
  "hexadecimal groups of 4 with spaces": (text) => pieces(hexOf(Buffer.from(text)), 4).join(" "),
  "hexadecimal bytes in lines": (text) => pieces(pieces(hexOf(padded(text)), 2).join(" "), 48).join("\n"),
  xxd: (text) =>
    dump(padded(text), (at, bytes, said) => `${at}: ${pieces(hexOf(bytes), 4).join(" ").padEnd(39)}  ${said}`),
  "xxd -g 1": (text) =>
    dump(padded(text), (at, bytes, said) => `${at}: ${pieces(hexOf(bytes), 2).join(" ").padEnd(47)}  ${said}`),
  "xxd -g 4": (text) =>
    dump(padded(text), (at, bytes, said) => `${at}: ${pieces(hexOf(bytes), 8).join(" ").padEnd(35)}  ${said}`),
  "hexdump -C": (text) =>
    `${dump(padded(text), (at, bytes, said) => {
      const [first = "", second = ""] = pieces(hexOf(bytes), 16).map((half) => pieces(half, 2).join(" "));
      return `${at}  ${`${first}  ${second}`.padEnd(48)}  |${said}|`;
    })}\n00000063`,
  "od -A x -t x1": (text) => dump(padded(text), (at, bytes) => `${at.slice(2)} ${pieces(hexOf(bytes), 2).join(" ")}`),
  hexdump: (text) => {
    const bytes = padded(text);
    const words = bytes.length % 2 === 0 ? bytes : Buffer.concat([bytes, Buffer.of(0)]);
    return dump(words, (at, line) => `${at.slice(1)} ${pieces(hexOf(Buffer.from(line).swap16()), 4).join(" ")}`);
  },
  "quoted-printable, all": quoted,
  "quoted-printable, special characters": (text) => text.replace(/[@=]/g, quoted),
  "quoted-printable, soft line breaks": (text) => pieces(text.replaceAll("=", "=3D"), 11).join("=\r\n"),
  "code points in braces": (text) => each(text, (c) => `\\u{${code(c).toString(16)}}`),
  "code points in eight digits": (text) => each(text, (c) => `\\U${code(c).toString(16).padStart(8, "0")}`),
  "hexadecimal escapes": (text) => each(text, (c) => `\\x${code(c).toString(16)}`),
  "hexadecimal escapes in braces": (text) => each(text, (c) => `\\x{${code(c).toString(16)}}`),
  "octal escapes": (text) => each(text, (c) => `\\${code(c).toString(8).padStart(3, "0")}`),
  "HTML without semicolons": (text) => each(text, (c) => `&#${code(c)}`),
  "JSON in JSON": (text) => JSON.stringify({ note: JSON.stringify({ text }) }),
  "no-break spaces": (text) => text.replaceAll(" ", "\u00a0"),
};

for (const [name, disguise] of Object.entries(DISGUISES)) {
  test(name, () => {
    for (const [plain, detector] of SECRETS) {
      const value = disguise(plain);
      const decision = decide(BOTH, { key: "k", value, metadata: {} });
      if (decision.allowed) throw new Error(`${name}: ${plain} passed`);
      const finding = decision.findings.find((one) => one.detector === detector);
      if (!finding) throw new Error(`${name}: ${plain} was found as ${decision.findings.map((one) => one.detector)}`);
      expect(finding.start).toBeGreaterThanOrEqual(0);
      expect(finding.end).toBeLessThanOrEqual(value.length);
      expect(finding.end).toBeGreaterThan(finding.start);
    }
  });
}

test("look-alike letters in the words of a label", () => {
  for (const text of ["the password is Lark5502!x", `api_key=${KEY}`, "passport number: X12345678"]) {
    const [label, value] = [text.slice(0, text.search(/[A-Z0-9]/)), text.slice(text.search(/[A-Z0-9]/))];
    const disguised = each(label, (c) => LOOK_ALIKES[c] ?? c) + value;
    expect(decide(BOTH, { key: "k", value: disguised, metadata: {} }).allowed).toBe(false);
  }
});

test("offsets are the original's", () => {
  const value = `🙂 ｗｒｉｔｅ to an\u200bna.berg@posteo.de\u00ad now`;
  const decision = decide(BOTH, { key: "k", value, metadata: {} });
  if (decision.allowed) throw new Error("allowed");
  const [finding] = decision.findings;
  expect(value.slice(finding?.start, finding?.end)).toBe("an\u200bna.berg@posteo.de");
});

test("control characters are no digits of an escape", () => {
  const write = (value: string) =>
    decide(policiesOf({ policies: { block_pii: true } }), { key: "k", value, metadata: {} });
  expect(write("anna.berg%40posteo.de").allowed).toBe(false);
  expect(write("anna.berg%\u0014\u0010posteo.de").allowed).toBe(true);
});

const metadataBlocks = (metadata: JsonObject) => {
  const decision = decide(BOTH, { key: "k", value: "", metadata });
  return decision.allowed ? [] : decision.findings.map(({ detector, field, end }) => `${detector} ${field} ${end}`);
};

test("arrays of the parts of one text", () => {
  expect(metadataBlocks({ card: ["4111", "1111", "1111", "1111"] })).toEqual(["credit_card metadata.card.0 4"]);
  expect(metadataBlocks({ a: [{ b: [..."4929722653797141"] }] })).toEqual(["credit_card metadata.a.0.b.0 1"]);
  for (const parts of [
    [..."joe.miller@posteo.de"],
    ["joe.mill", "er@poste", "o.de"],
    ["joe.miller", "@", "posteo.de"],
    ["DE89", "3704", "0044", "0532", "0130", "00"],
    ["543", "21", "9876"],
    ["+49", "170", "1234567"],
    [...`ghp_${KEY}q8Zt2LmW0vXr`],
    pieces(`ghp_${KEY}q8Zt2LmW0vXr`, 8),
  ]) {
    expect(metadataBlocks({ x: parts }), parts.join("|")).not.toEqual([]);
  }
});

test("arrays of other things are not joined", () => {
  const random = numbers(7);
  for (const items of [
    [4111, 1111, 1111, 1111],
    ["4000", "4001", "5432", "6379"],
    ["2019", "2020", "2021", "2022"],
    ["@anna.dev", "@bob.io", "@carl.dev", "@dora.io"],
    ["the", "quick", "brown", "fox", "jumps"],
    [..."the quick brown fox jumps over the lazy dog"],
    ["en", "de", "fr", "pt-BR"],
    ["1.2.3", "1.2.4", "2.0.0-rc1"],
    ["10:30", "11:00", "14:15"],
    ["2026-05", "2026-06", "2026-07"],
    ["v1", "v2", "v3", "v10"],
    ["#1a2b3c", "#ffffff", "#04a1ef"],
    ...Array.from({ length: 2_000 }, () => Array.from({ length: 4 }, () => (random() % 0xfffffff).toString(16))),
    ...Array.from({ length: 2_000 }, () => Array.from({ length: 5 }, () => (random() % 1e9).toString(36))),
  ]) {
    expect(metadataBlocks({ items, tokens: items }), items.join("|")).toEqual([]);
  }
});

test("data that is no text, and text without anything in it", () => {
  const random = numbers(11);
  const bytes = (count: number) => Buffer.from(Array.from({ length: count }, () => random() & 0xff));
  const image = Buffer.concat([
    Buffer.from("89504e470d0a1a0a0000000d49484452000000100000001008060000001ff3ff61", "hex"),
    bytes(4_000),
  ]);
  const note = padded("nothing to see");
  const digests = Array.from({ length: 200 }, () => hexOf(bytes(32)));
  const mail = `MIME-Version: 1.0\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nThe total =3D 12 =E2=82=AC, and a line that is broken =\r\nhere. Page=20 of 30.\r\n`;
  const log = Array.from(
    { length: 200 },
    (_, i) => `2026-05-04 10:11:${10 + (i % 50)} status=404 took=3${i} ms id=${hexOf(bytes(4))} =40`,
  );
  for (const value of [
    pieces(image.toString("base64"), 76).join("\n"),
    pieces(hexOf(image), 60).join("\n"),
    dump(image, (at, line, said) => `${at}: ${pieces(hexOf(line), 4).join(" ")}  ${said.replace(/[^ -~]/g, ".")}`),
    digests.join("\n"),
    digests.map((digest) => pieces(digest, 2).join(":")).join("\n"),
    digests.map((digest) => pieces(digest, 8).join(" ")).join(" "),
    pieces(note.toString("base64"), 64).join("\n"),
    Buffer.from(note.toString(), "utf16le").toString("base64"),
    pieces(hexOf(note), 2).join(" "),
    mail,
    log.join("\n"),
    "10 20 30 40 50 60 70 80 90 42 43 55 61 62 70 31",
    "users\\u{1F600} C:\\100\\200 \\d{4} &#128512 a=b&c=d&e=20",
  ]) {
    expect(decide(BOTH, { key: "k", value, metadata: {} }), value.slice(0, 80)).toEqual({ allowed: true });
  }
});

test("a finding in encoded lines covers them, from the offset before the first one", () => {
  const lines = dump(
    padded("write to anna.berg@posteo.de"),
    (at, bytes, said) => `${at}: ${pieces(hexOf(bytes), 4).join(" ").padEnd(39)}  ${said}`,
  );
  const decision = decide(BOTH, { key: "k", value: `a dump:\n${lines}\nand more`, metadata: {} });
  if (decision.allowed) throw new Error("allowed");
  const [{ start, end } = { start: 0, end: 0 }] = decision.findings;
  expect(start).toBe("a dump:\n".length);
  expect(end).toBeGreaterThan("a dump:\n".length + lines.lastIndexOf("\n"));
});
