/** What must hold for every text: offsets, independence of the surroundings, one answer for one input. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import type { JsonObject } from "../../src/json.ts";
import { decide } from "../../src/screen/decide.ts";
import { policiesOf } from "../../src/screen/policies.ts";

const BOTH = policiesOf({ policies: { block_pii: true, block_secrets: true } });
const findingsOf = (value: string, key = "k", metadata: JsonObject = {}) => {
  const decision = decide(BOTH, { key, value, metadata });
  return decision.allowed ? [] : decision.findings;
};

const PLANTED: readonly string[] = [
  "anna.berg@posteo.de",
  "DE89370400440532013000",
  "543-21-9876",
  "+49 30 901820",
  "756.9217.0769.85",
  "RSSMRA80A01H501U",
  "4929722653797141",
  "postgres://app:s3cretPass@db.internal/app",
  `glpat-${"a1B2c3D4e5".repeat(2)}`,
];
/** Words that are neither labels nor numbers. */
const harmless = fc
  .array(
    fc.constantFrom("lorem", "quick", "brown", "fox", "und", "gestern", "we", "went", "home", "🙂", "été", "日本"),
    { maxLength: 12 },
  )
  .map((words) => words.join(" "));

test("a finding covers what was planted, wherever it stands", () => {
  fc.assert(
    fc.property(fc.constantFrom(...PLANTED), harmless, harmless, (planted, before, after) => {
      const value = `${before} ${planted} ${after}`;
      const at = before.length + 1;
      const covering = findingsOf(value).filter((one) => one.start < at + planted.length && one.end > at);
      expect(covering.length).toBeGreaterThan(0);
      for (const one of covering) {
        expect(one.start).toBeGreaterThanOrEqual(at);
        expect(one.end).toBeLessThanOrEqual(at + planted.length);
      }
    }),
    { numRuns: 400 },
  );
});

test("words alone are never blocked", () => {
  fc.assert(
    fc.property(harmless, (value) => expect(findingsOf(value)).toEqual([])),
    { numRuns: 200 },
  );
});

test("any string gets an answer, the same each time, with offsets inside it", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 400 }), (value) => {
      const findings = findingsOf(value);
      expect(findingsOf(value)).toEqual(findings);
      for (const one of findings) {
        const text = one.field === "key" ? "k" : value;
        expect(0 <= one.start && one.start < one.end && one.end <= text.length).toBe(true);
      }
    }),
    { numRuns: 1500 },
  );
});

test("any metadata gets an answer that never repeats what was found", () => {
  const planted = fc.constantFrom(...PLANTED);
  fc.assert(
    fc.property(fc.dictionary(fc.oneof(fc.string(), planted), fc.oneof(fc.jsonValue(), planted)), (metadata) => {
      const decision = decide(BOTH, { key: "k", value: "v", metadata: metadata as JsonObject });
      const said = JSON.stringify(decision);
      for (const secret of PLANTED) expect(said).not.toContain(secret);
    }),
    { numRuns: 400 },
  );
});

test("a decision does not depend on what other settings have found harmless", () => {
  const patterns = [{ name: "password", regex: "zzzzq", mode: "audit" }];
  const named = policiesOf({ policies: { block_pii: true, block_secrets: true, screening: { patterns } } });
  const labelled = "[redacted:password]: hunter2Horse!";
  const contents: [key: string, metadata: JsonObject][] = [
    [labelled, {}],
    ["k", { note: labelled }],
    ["k", { [labelled]: 1 }],
    ["k", { user: { note: [labelled] } }],
  ];
  for (const [key, metadata] of contents) {
    const allowed = () => [BOTH, named].map((one) => decide(one, { key, value: "x", metadata }).allowed);
    // In the settings with a pattern of this name, the label is only a replacement.
    expect([allowed(), allowed()]).toEqual([
      [false, true],
      [false, true],
    ]);
  }
});

test("a value of metadata is judged under its own name, however often it was harmless under others", () => {
  const decisions = (names: readonly string[], value: string | number) =>
    names.map((name) => decide(BOTH, { key: "k", value: "x", metadata: { [name]: value } }).allowed);
  for (const value of ["hunter2Horse!", "s3cretPass"]) {
    for (let round = 0; round < 3; round++)
      expect(decisions(["source", "password", "source", "colour"], value)).toEqual([true, false, true, true]);
  }
  // Names with very many values are not remembered, and are judged all the same.
  for (let i = 0; i < 200; i++) expect(decisions(["source"], `chat ${i}`)).toEqual([true]);
  expect(decisions(["source", "password"], "hunter2Horse!")).toEqual([true, false]);
});
