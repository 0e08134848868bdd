import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { JsonValue } from "../../src/json.ts";
import {
  CanonicalJsonError,
  canonicalJson,
  MAX_JSON_DEPTH,
  parseCanonicalJson,
  parseCanonicalObject,
} from "../../src/log/jcs.ts";

/** RFC 8785, implemented differently: bytes from a table of escapes, order by comparing code units one by one. */
function independent(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(independent).join(",")}]`;
  if (value === null || typeof value === "boolean") return `${value}`;
  if (typeof value === "number") return Object.is(value, -0) ? "0" : `${value}`;
  if (typeof value === "string") return quote(value);
  const names = Object.keys(value);
  for (let i = 1; i < names.length; i++) {
    for (let j = i; j > 0 && before(names[j] as string, names[j - 1] as string); j--) {
      [names[j], names[j - 1]] = [names[j - 1] as string, names[j] as string];
    }
  }
  return `{${names.map((name) => `${quote(name)}:${independent(value[name] as JsonValue)}`).join(",")}}`;
}

function before(a: string, b: string): boolean {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    if (a.charCodeAt(i) !== b.charCodeAt(i)) return a.charCodeAt(i) < b.charCodeAt(i);
  }
  return a.length < b.length;
}

function quote(text: string): string {
  const short: Record<number, string> = { 8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r", 34: '\\"', 92: "\\\\" };
  let out = '"';
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    out += short[code] ?? (code < 32 ? `\\u00${code.toString(16).padStart(2, "0")}` : text[i]);
  }
  return `${out}"`;
}

const json = fc.jsonValue({ stringUnit: "grapheme", maxDepth: 5 }) as fc.Arbitrary<JsonValue>;

describe("canonical JSON (RFC 8785)", () => {
  test("the example of RFC 8785, 3.2.3 and 3.2.2", () => {
    const value = JSON.parse(
      '{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],' +
        '"string":"\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/","literals":[null,true,false]}',
    );
    expect(canonicalJson(value)).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],' +
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    );
  });

  test("members are sorted by UTF-16 code units, not code points (RFC 8785, 3.2.3)", () => {
    const sorted = ["\r", "A", "\u0080", "\u00f6", "\u20ac", "\ud83d\ude00", "\ufb33"];
    const object = Object.fromEntries(sorted.toReversed().map((name) => [name, 0]));
    expect(Object.keys(JSON.parse(canonicalJson(object)))).toEqual(sorted);
  });

  test("agrees with another formulation, and round-trips", () => {
    fc.assert(
      fc.property(json, (value) => {
        const text = canonicalJson(value);
        expect(text).toBe(independent(value));
        expect(canonicalJson(JSON.parse(text))).toBe(text);
        expect(canonicalJson(parseCanonicalJson(text))).toBe(text);
      }),
    );
  });

  test("every double is written as ECMAScript writes it", () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
        expect(Number(canonicalJson(number))).toBe(number === 0 ? 0 : number);
      }),
    );
  });

  test("what has no canonical form is refused", () => {
    for (const bad of [Number.NaN, Number.POSITIVE_INFINITY, "\ud800", "a\udc00", { "\ud800": 1 }, undefined, 1n]) {
      expect(() => canonicalJson(bad as JsonValue)).toThrow(CanonicalJsonError);
    }
    let deep: JsonValue = 1;
    for (let i = 0; i < MAX_JSON_DEPTH; i++) deep = [deep];
    expect(canonicalJson(deep)).toHaveLength(2 * MAX_JSON_DEPTH + 1);
    expect(() => canonicalJson([deep])).toThrow("deeper");
  });

  test("a text that is not canonical is refused", () => {
    for (const bad of [
      ' {"a":1}',
      '{"b":1,"a":2}',
      '{"a":1,"a":1}',
      '{"a":1.0}',
      '"\\u0041"',
      "-0",
      "[1, 2]",
      "{",
      "1e2",
    ]) {
      expect(() => parseCanonicalJson(bad)).toThrow(CanonicalJsonError);
    }
  });

  test("an object is parsed from its canonical text, and from no other", () => {
    const near = fc.array(
      fc.constantFrom(...'{}[]":,\\01-.ea\u0001\ud800é nulltrue'.split(""), '{"a":', '"b"', "null"),
    );
    const texts = fc.oneof(
      json.map((value) => canonicalJson(value)),
      json.map((value) => JSON.stringify(value)),
      near.map((parts) => parts.join("")),
      near.map((parts) => `{"a":${parts.join("")}}`),
    );
    fc.assert(
      fc.property(texts, (text) => {
        const value = parseCanonicalObject(text);
        if (value !== null) expect(canonicalJson(value)).toBe(text);
      }),
      { numRuns: 2000 },
    );
    for (const text of ["{}", '{"a":{"b":[1,-20,true,null,"é"]},"c":0}'])
      expect(parseCanonicalObject(text)).toEqual(JSON.parse(text));
    for (const text of [
      "",
      "{",
      "[]",
      '{"a":01}',
      '{"a":-0}',
      '{"b":1,"a":1}',
      '{"a":1,"a":1}',
      '{"a":1.0}',
      '{"a":1}x',
    ]) {
      expect(parseCanonicalObject(text)).toBeNull();
    }
  });

  test("a member named __proto__ is a member like any other", () => {
    const text = '{"__proto__":{"a":1},"b":2}';
    expect(canonicalJson(JSON.parse(text))).toBe(text);
  });
});
