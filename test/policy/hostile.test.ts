/** No text takes long, whatever is in it; what cannot be looked through is blocked. */
import { expect, test } from "bun:test";
import type { JsonObject, JsonValue } from "../../src/json.ts";
import type { Anchor } from "../../src/screen/anchor.ts";
import { anchorsOf } from "../../src/screen/anchors.ts";
import { decide } from "../../src/screen/decide.ts";
import { DETECTORS, type DetectorName } from "../../src/screen/detectors.ts";
import { examplePolicies, policiesOf } from "../../src/screen/policies.ts";
import { rulesOf } from "../../src/screen/rules.ts";
import type { Automaton } from "../../src/screen/text/automaton.ts";
import { effort } from "../effort.ts";
import { randomText } from "./random.ts";

const BOTH = policiesOf({ policies: { block_pii: true, block_secrets: true } });
/** As large as a value may be; half of it shows how the time grows, too. */
const LARGEST = 1 << 20;
const SIZE = effort({ usual: LARGEST / 2, long: LARGEST });
/** What any text may cost, in large honest ones: several times what it takes, since the test is about growth. */
const MOST = 20;
const ROUNDS = 5;
/** The same for a short text, whose usual time is hardly measurable. */
const MANY_TIMES = 500;
const SMALLEST_MS = 0.02;
const processorMs = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

/** What one decision costs: the least of several, since what else the machine does can only add to it. */
function leastMs(value: string, enough = 0): number {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS && least > enough; round++) {
    const begin = processorMs();
    decide(BOTH, { key: "k", value, metadata: {} });
    least = Math.min(least, processorMs() - begin);
  }
  return least;
}

const repeat = (piece: string, size = SIZE) => piece.repeat(Math.ceil(size / piece.length)).slice(0, size);
const HOSTILE: Readonly<Record<string, () => string>> = {
  "one letter": () => repeat("a"),
  "one digit": () => repeat("7"),
  digits: () => randomText("0123456789", SIZE, 1),
  "digits and separators": () => randomText("0123456789-. /()+", SIZE, 2),
  "at signs": () => repeat("a@"),
  "nearly addresses": () => repeat("a.b-c@d."),
  passwords: () => repeat("password="),
  "passwords in words": () => repeat("password a b c d e f g "),
  labels: () => repeat("passport card phone iban 1 "),
  streets: () => repeat("1 Main Rue Suite "),
  "a list in one line": () => `account numbers:\n- 4930281756 ${repeat("4930281756 ")}`,
  "items between empty lines": () => repeat("passwords:\n\nAb1\n\nCd2\n\n"),
  "headings of lists": () => repeat("<h3>passwords</h3>\n<ul><li>Rotschenkel-31"),
  "token prefixes": () => repeat("xoxb-sk-ghp_SG."),
  "BEGIN lines": () => repeat("-----BEGIN PRIVATE KEY-----"),
  "token beginnings": () => repeat(" eyJabcdefghij."),
  addresses: () => repeat("http://a:b"),
  Base64: () => randomText("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", SIZE, 3),
  "Base64 of labels": () => Buffer.from(repeat("password ")).toString("base64").slice(0, SIZE),
  hexadecimal: () => randomText("0123456789abcdef:", SIZE, 4),
  "lines of Base64": () =>
    randomText("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", SIZE, 3).replace(/.{76}/g, "$&\n"),
  "lines that begin like text": () =>
    repeat(`${Buffer.from("a text of 40 characters is what this is, \x00").toString("base64")}\n`),
  "bytes in hexadecimal": () => repeat("61 "),
  "bytes that are no text": () => repeat("61 62 63 64 65 66 67 68 00 "),
  "a dump": () => repeat("00000000: 6d79 2061 7069 206b 6579 3a20 7331 3233  my api key: s123\n"),
  "equals signs": () => repeat("=3=4=\n"),
  backslashes: () => repeat("\\"),
  escapes: () => repeat("\\u0041%41&#65;"),
  "zero-width": () => repeat("\u200b"),
  "full-width": () => repeat("ａ＠１"),
  "other scripts": () => repeat("пароль密码비밀번호"),
  "keys without an end": () => repeat("-----BEGIN PRIVATE KEY-----\nABCDEFGHIJKLMNOP\n"),
  "rules below a header": () => `${"password|".repeat(35)}\n${repeat("|\n")}`,
  "a long number after its label": () => `social security number ${repeat("7")}`,
  noise: () => randomText(" abcdefghijklmnop0123456789@:/._-=+\"'{}\n", SIZE, 5),
};

/** The anchors of every detector, with what may follow them: operators, numbers, words, and long values. */
const FILLERS: readonly string[] = [
  " ",
  "=",
  ": 1 ",
  " 12 Abc ",
  '="a" ',
  " a b c d e ",
  "\n",
  "\t,",
  ", 4 Xy 1990 ",
  " is ",
  "/",
  `=${"Ab1".repeat(300)} `,
  ` ${"x.".repeat(200)}`,
  "",
  "1",
  ": 0172 482936 ",
  "|",
];
const WORDS_OF_EACH = 6;
const FILLERS_OF_EACH = 5;
const SHORT = SIZE >> 3;

/** Texts of a few anchors of a detector, spread over all of its lists. */
function* anchorTexts(detector: DetectorName): Generator<string> {
  const anchors = anchorsOf(detector);
  const step = Math.max(1, Math.ceil(anchors.length / WORDS_OF_EACH));
  for (let at = 0, filler = 0; at < anchors.length; at += step) {
    for (let count = 0; count < FILLERS_OF_EACH; count++, filler += 3) {
      const piece = (anchors[at] as Anchor).word + FILLERS[filler % FILLERS.length];
      yield piece.repeat(Math.ceil(SHORT / piece.length)).slice(0, SHORT);
    }
  }
}

const LOG = repeat(
  '{"time":"2026-05-04T10:11:12.131Z","level":"info","phone":null,"address":null,"token":null,"msg":"job 4711 done in 12 ms"}\n',
);
/** This machine's measure, of processor time. */
const honestMs = leastMs(LOG);

const shortHonestMs = leastMs(LOG.slice(0, SHORT));

for (const detector of Object.keys(DETECTORS) as DetectorName[]) {
  test(`words of ${detector}`, () => {
    const most = MOST * shortHonestMs;
    const slow = Array.from(anchorTexts(detector), (text) => [text.slice(0, 40), leastMs(text, most)] as const);
    expect(slow.filter(([, ms]) => ms > most)).toEqual([]);
  });
}

test("each sign, repeated", () => {
  const most = MOST * shortHonestMs;
  const signs = Array.from("!\"#$%&'()*+,-./:;<=>?@[]^_`{|}~〇号é", (sign) => sign.repeat(SHORT));
  expect(signs.filter((text) => leastMs(text, most) > most).map((text) => text[0])).toEqual([]);
});

for (const [name, make] of Object.entries(HOSTILE)) {
  test(name, () => {
    const most = MOST * honestMs;
    expect(leastMs(make(), most)).toBeLessThanOrEqual(most);
  });
}

test("a text with more anchors than its budget allows is blocked, and the message says so", () => {
  const decision = decide(BOTH, { key: "k", value: repeat("password=", LARGEST), metadata: {} });
  if (decision.allowed) throw new Error("allowed");
  expect(decision.findings[0]?.detector).toBe("budget");
  expect(decision.message).toContain("more suspicious places than can be checked");
});

test("the anchors of detectors that do not look cost a text nothing, although all policies share one table", () => {
  const [pii, secrets] = [examplePolicies(["block_pii"]), examplePolicies(["block_secrets"])];
  const value = repeat("password=", LARGEST);
  expect(decide(secrets, { key: "k", value, metadata: {} }).allowed).toBe(false);
  expect(decide(pii, { key: "k", value, metadata: {} })).toEqual({ allowed: true });
  expect(rulesOf(pii).dictionary?.automaton).toBe(rulesOf(secrets).dictionary?.automaton as Automaton);
});

test("large honest texts pass", () => {
  const vector = repeat("0.54538700, -0.63434100, -0.93701200, ");
  const digests = repeat("sha512-9fceb02d0ae598e95dc970b74767f19372d61af8 lodash@4.17.21\n");
  for (const value of [LOG, vector, digests]) {
    expect(decide(BOTH, { key: "k", value, metadata: {} })).toEqual({ allowed: true });
  }
});

test("a decision about a short value takes no longer than it should, however ambiguous the value is", () => {
  const signs = ["a", "ab", "A", "Ab", "1", "12", "a1", "é", " ", ".", "-", "_", "/", ",", ":", "=", "'", "+", "的"];
  const endings = ["", "!", "=", " 1", "\u0001"];
  const labels = ["password=", "api key: ", "see "];
  const values = signs.flatMap((first) =>
    signs.map((second, at) => {
      const label = labels[at % labels.length] as string;
      return label + (first + second).repeat(80).slice(0, 160) + endings[(at + first.length) % endings.length];
    }),
  );
  const honest = LOG.slice(0, 200);
  leastMs(honest);
  const most = MANY_TIMES * Math.max(leastMs(honest), SMALLEST_MS);
  expect(values.filter((value) => leastMs(value, most) > most)).toEqual([]);
});

test("metadata of many members have one budget, however they are nested, and a redaction of many takes linear time", () => {
  const redact = policiesOf({ policies: { screening: { pii: { mode: "redact" }, secrets: { mode: "redact" } } } });
  const size = 48 * 1024;
  const shapes: Readonly<Record<string, (piece: string) => JsonObject>> = {
    members: (piece) => Object.fromEntries(Array.from({ length: size / 40 }, (_, at) => [`m${at}`, piece])),
    names: (piece) => Object.fromEntries(Array.from({ length: size / 40 }, (_, at) => [`${piece}${at}`, 1])),
    items: (piece) => ({ list: Array.from({ length: size / 30 }, () => piece) }),
    "deep names": (piece) => nested(size / 40, (below) => ({ [piece]: below })),
    "deep arrays": (piece) => ({ list: [nested(size / 10, (below) => [below]), piece] }),
  };
  const ms = (policies: typeof BOTH, metadata: JsonObject) => {
    let least = Number.POSITIVE_INFINITY;
    for (let round = 0; round < ROUNDS; round++) {
      const begin = processorMs();
      decide(policies, { key: "k", value: "", metadata });
      least = Math.min(least, processorMs() - begin);
    }
    return least;
  };
  const most = MOST * Math.max(1, leastMs(LOG.slice(0, size)));
  for (const [shape, make] of Object.entries(shapes)) {
    for (const piece of ["0172 482936 mobil 1 ", "1 Main Rue Suite ", "password=password=", "ann@mailbox.org.au"]) {
      for (const policies of [BOTH, redact]) expect(ms(policies, make(piece)), `${shape} ${piece}`).toBeLessThan(most);
    }
  }
});

function nested(depth: number, around: (below: JsonValue) => JsonValue): JsonObject {
  let value: JsonValue = "x";
  for (let level = 0; level < depth; level++) value = around(value);
  return { value };
}
