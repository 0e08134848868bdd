/** Content that was redacted is screened again near what changed. The decision is that of screening all of it again. */
import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject, JsonValue } from "../../src/json.ts";
import { everyAnchor } from "../../src/screen/anchors.ts";
import { beginEffort, isExhausted, REACH } from "../../src/screen/check.ts";
import { type Content, decide, decideAsItIs } from "../../src/screen/decide.ts";
import { DETECTORS, type DetectorName } from "../../src/screen/detectors.ts";
import { examine } from "../../src/screen/examine.ts";
import { type PolicySettings, policiesOf } from "../../src/screen/policies.ts";
import { redacted } from "../../src/screen/redaction/redact.ts";
import { rulesOf } from "../../src/screen/rules.ts";
import type { ScreeningSetting } from "../../src/screen/screening.ts";
import { effectivePolicies } from "../../src/screen/workspace-policies.ts";
import { effort } from "../effort.ts";
import { SEED } from "../seed.ts";
import { Seeded } from "../seeded.ts";

const policies = (screening: ScreeningSetting, more: JsonObject = {}): PolicySettings =>
  policiesOf({ policies: { ...more, screening: screening as JsonObject } });

/** Texts in which something is found, in many languages, and harmless ones. */
const FOLDER = join(import.meta.dir, "natural");
const NATURAL: readonly string[] = readdirSync(FOLDER)
  .flatMap((file) => readFileSync(join(FOLDER, file), "utf8").split("\n"))
  .flatMap((line) => /^(?:pii|secret|harmless)\|[a-z]{2}\|(.+)$/.exec(line)?.[1] ?? [])
  .map((text) => text.replace(/\\n/g, "\n").replace(/\\t/g, "\t"));
const WORDS = [...new Set(everyAnchor().map(([, { word }]) => word))];
const SIGNS = [
  " ",
  "\n",
  ", ",
  ": ",
  "=",
  ' = "',
  "|",
  "\t",
  "'",
  "(",
  " is ",
  "1",
  "12 ",
  "Ab1!x9",
  "0172 482936 ",
  ";",
];
const PATTERNS: readonly string[] = [
  "[A-Z]{3}-[0-9]+",
  "\\bto \\w+",
  "redacted",
  "\\d{3}",
  "^.{5}",
  "[a-z]+@",
  ":[a-z_]+\\]",
];

/** The ways in which text is hidden in other text. */
const HIDDEN: readonly ((text: string) => string)[] = [
  (text) => text,
  (text) => Buffer.from(text).toString("base64"),
  (text) =>
    Buffer.from(text)
      .toString("base64")
      .replace(/.{1,24}/g, "$&\n"),
  (text) => Buffer.from(text).toString("hex"),
  (text) => Buffer.from(text).toString("hex").replace(/../g, "$& "),
  (text) => text.replace(/[@=.]/g, (sign) => `=${sign.charCodeAt(0).toString(16).toUpperCase()}`),
  (text) => text.replace(/[^a-z]/gi, (sign) => encodeURIComponent(sign)),
  (text) => text.replace(/[@:a]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`),
  (text) => text.replace(/[a@1]/g, (sign) => String.fromCharCode(sign.charCodeAt(0) + 0xfee0)),
  (text) => text.replace(/[aeo]/g, "$&\u200b"),
];

/** A text of pieces in which something may be found, with more or less between them. */
function someText(seeded: Seeded, pieces: number): string {
  const piece = () =>
    seeded.weighted<() => string>([
      [8, () => seeded.pick(NATURAL)],
      [2, () => seeded.pick(HIDDEN)(seeded.pick(NATURAL))],
      [3, () => seeded.pick(WORDS) + seeded.pick(SIGNS) + seeded.pick(WORDS) + seeded.pick(SIGNS)],
      [1, () => "[redacted:email]"],
      [1, () => "ABC-123 "],
    ])();
  const between = () =>
    seeded.weighted<() => string>([
      [6, () => seeded.pick(SIGNS)],
      [1, () => "they went home, ".repeat(seeded.below(40))],
      [1, () => "they went home, ".repeat(seeded.below(500))],
      [1, () => `${seeded.pick(["x", "QUJD", " ", "1 ", "=\n", "aé", "61 "]).repeat(seeded.below(2000))}\n`],
    ])();
  return Array.from({ length: pieces }, () => piece() + between()).join("");
}

function someMetadata(seeded: Seeded, depth: number): JsonValue {
  const member = () => someMetadata(seeded, depth - 1);
  const kind = seeded.below(depth > 0 ? 6 : 3);
  if (kind === 0) return someText(seeded, 1);
  if (kind === 1) return seeded.pick([7, true, null, 4111111111111111, "x"]);
  if (kind === 2) return someText(seeded, 2);
  if (kind === 3) return [...seeded.pick(["anna.berg@posteo.de", "4111 1111 1111 1111", "just words here"])];
  if (kind === 4) return Array.from({ length: seeded.below(5) }, member);
  return Object.fromEntries(
    Array.from({ length: seeded.below(4) }, () => [seeded.pick([...WORDS, "a", "b"]), member()]),
  );
}

const NAMES = Object.keys(DETECTORS) as DetectorName[];

function someSetting(seeded: Seeded): ScreeningSetting {
  const mode = () =>
    seeded.weighted([
      [8, "redact"],
      [2, "audit"],
      [1, "off"],
      [seeded.below(2), "block"],
    ] as const);
  const kind = () => ({
    mode: seeded.weighted([
      [8, "redact"],
      [1, "audit"],
    ] as const),
    detectors: Object.fromEntries(seeded.chance(0.5) ? [] : [1, 2, 3].map(() => [seeded.pick(NAMES), mode()])),
  });
  const patterns = [0, 1].map((at) => ({ name: `own_${at}`, regex: seeded.pick(PATTERNS), mode: mode() }));
  return {
    pii: kind(),
    secrets: kind(),
    ...(seeded.chance(0.3) && { patterns }),
    ...(seeded.chance(0.3) && { exceptions: [{ detector: seeded.pick(NAMES), ends_with: "e", reason: "public" }] }),
  };
}

/**
 * Slow and simple: what is stored of some content, which is screened as a whole after each replacement. Null when it is
 * refused, `costly` when a screening costs more than it may.
 */
function storedAfterWhole(
  settings: PolicySettings,
  content: Content,
): Pick<Content, "value" | "metadata"> | null | "costly" {
  const rules = rulesOf(settings);
  let clean = content;
  for (let round = 0; round < 8; round++) {
    const { found } = examine(rules, clean, 0);
    if (isExhausted()) return "costly";
    const matches = found.flatMap((one) => one.matches);
    if (matches.some(({ finding, isFixed }) => finding.mode === "block" || (finding.mode === "redact" && isFixed)))
      return null;
    if (!matches.some(({ finding }) => finding.mode === "redact")) return clean;
    const replaced = redacted(clean, found, rules.names);
    if (replaced.fixed.length > 0) return null;
    clean = replaced.content;
  }
  return null;
}

test("what is stored is the same as when all is screened again, and nothing is found in it", () => {
  const seeded = new Seeded(SEED);
  const outcomes = { stored: 0, redacted: 0, refused: 0, exhausted: 0 };
  for (let i = 0; i < effort({ usual: 120, long: 5_000 }); i++) {
    const setting = someSetting(seeded);
    const settings = seeded.chance(0.8)
      ? policies(setting)
      : effectivePolicies(
          { version: 1, policies: policies(someSetting(seeded)), requireConfig: false, exceptionsFromAgents: true },
          policies(setting),
        );
    const metadata = { text: seeded.chance(0.4) ? someMetadata(seeded, 3) : 1 };
    const key = seeded.pick(["k", "notes/1", "user/phone", "password", "my-iban"]);
    const content: Content = { key, value: someText(seeded, 1 + seeded.below(12)), metadata };
    const decision = decide(settings, content, 0);
    if (isExhausted()) {
      // Several screenings together may cost more than they may, where each alone does not.
      outcomes.exhausted++;
      expect(decision.allowed).toBe(false);
      continue;
    }
    const expected = storedAfterWhole(settings, content);
    if (expected === "costly") {
      outcomes.exhausted++;
      continue;
    }
    expect(decision.allowed, JSON.stringify({ setting, content })).toBe(expected !== null);
    if (!decision.allowed || expected === null) {
      outcomes.refused++;
      continue;
    }
    const { value, metadata: kept } = decision.found?.redacted ?? content;
    outcomes[decision.found?.redacted === undefined ? "stored" : "redacted"]++;
    expect({ value, kept }, JSON.stringify({ setting, content })).toEqual({
      value: expected.value,
      kept: expected.metadata,
    });
    expect(decideAsItIs(settings, { key, value, metadata: kept }, 0).allowed).toBe(true);
  }
  console.log(outcomes);
  expect(outcomes.redacted).toBeGreaterThan(0);
});

/** What may make a check read on: long runs of one sign or word, tables, members, lines. */
const RUNS: readonly string[] = [
  ...[
    "a",
    "A",
    "7",
    " ",
    "\n",
    "-",
    "=",
    ".",
    "/",
    "|",
    ",",
    '"',
    "'",
    "\\",
    "(",
    "#",
    "$",
    "é",
    "的",
    "aB3",
    "x.",
    "ab-",
  ],
  ...["a b ", "Ab ", "1 ", "5,", "+1", ": ", "k=v&", "k: v\n", "a,b\n", "|\n", "--|--\n", "word\n", "<a>", "[]", "eyJ"],
  ...["  k: Zimtstern_7\n", "mika@posteo.de ", "Main St 5, "],
];
const TIES: readonly string[] = [
  ...[
    "",
    " ",
    "=",
    ": ",
    ' "',
    '="',
    " is ",
    "\n",
    "|x\n",
    " -p ",
    "('",
    ":\n  k: ",
    "|x\nab|",
    " 1",
    "(",
    ">",
    " -a",
    "12",
  ],
];
/** Words as most checks see them, since they read what is around. */
const STANDING: readonly (readonly [before: string, after: string])[] = [
  [" ", " "],
  ["x=", "="],
  ["\n", ""],
  ["'", '"'],
];
const WORD = "Passwort";
const OTHERS: readonly string[] = [
  ...[
    " 12 Abc is 1990-01-02",
    ": Zimt7stern!",
    "\n1234567890\n",
    '" value="x9K2mQ7pL4"',
    '"',
    "'",
    "\n",
    " ",
    "<",
    ")",
    ";",
  ],
  ...["", "@a.de", ",x9K2mQ7pL4\n", "|x9K2mQ7pL4|\n", "7", "a", "-----", "=", "."],
];

/** One in so many anchors is looked at with each text. */
const SHARE = 16;
/** How much longer the checks may take where the text is some two hundred times as long. */
const MOST_TIMES = 4;

interface Around {
  text: string;
  start: number;
  end: number;
}

/** A function that makes a text with a word in it, after or before a run that is `length` long and ends with `other`. */
function someAround(seeded: Seeded, run: string, isBefore: boolean): (length: number, other: string) => Around {
  const [tie, near, [before, after]] = [seeded.pick(TIES), seeded.pick(OTHERS), seeded.pick(STANDING)];
  return (length, other) => {
    const long = run.repeat(Math.ceil(length / run.length));
    if (!isBefore)
      return {
        text: `${before}${WORD}${after}${tie}${long}${other}`,
        start: before.length,
        end: before.length + WORD.length,
      };
    const start = `${other}${long}${tie}${before}`.length;
    return { text: `${other}${long}${tie}${before}${WORD}${after}${near}`, start, end: start + WORD.length };
  };
}

test("what a check finds depends on nothing beyond its reach, and neither does its time", () => {
  const seeded = new Seeded(SEED);
  const everyOne = everyAnchor();
  const foundIn = (anchors: typeof everyOne, { text, start, end }: Around) => {
    beginEffort(Number.MAX_SAFE_INTEGER);
    const begin = Bun.nanoseconds();
    const hits = anchors.map(([, { check }]) => check(text, start, end));
    const ms = (Bun.nanoseconds() - begin) / 1e6;
    return { ms, places: hits.map((hit) => hit && [hit.start - start, hit.end - start]) };
  };
  for (const run of RUNS) {
    for (let round = 0; round < effort({ usual: 2, long: 100 }); round++) {
      const make = someAround(seeded, run, seeded.chance(0.4));
      const first = seeded.below(SHARE);
      const anchors = everyOne.filter((_, at) => at % SHARE === first);
      const [near, other] = [make(REACH, seeded.pick(OTHERS)), make(REACH, seeded.pick(OTHERS))];
      const [short, changed] = [foundIn(anchors, near), foundIn(anchors, other)];
      const name = JSON.stringify([near, other].map(({ text }) => [text.slice(0, 60), text.slice(-60)]));
      // What is found may itself be longer.
      const differing = anchors.filter((_, at) => {
        const [one, two] = [short.places[at], changed.places[at]];
        return JSON.stringify(one) !== JSON.stringify(two) && !two?.some((offset) => Math.abs(offset) >= REACH);
      });
      expect(
        differing.map(([detector, { word }]) => `${detector} ${word}`),
        name,
      ).toEqual([]);
      const far = make(512 * 1024, "");
      let [least, most] = [short.ms, foundIn(anchors, far).ms];
      for (let again = 0; again < 5 && most > MOST_TIMES * least; again++)
        [least, most] = [Math.max(least, foundIn(anchors, near).ms), Math.min(most, foundIn(anchors, far).ms)];
      expect(most, name).toBeLessThanOrEqual(MOST_TIMES * least);
    }
  }
});
