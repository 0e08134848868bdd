import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { JsonObject } from "../../src/json.ts";
import { JsonProblem, MAX_DEPTH, parseStrictJson } from "../../src/serve/http/pipeline/strict-json.ts";

const parse = (text: string | Uint8Array): JsonObject =>
  parseStrictJson(typeof text === "string" ? new TextEncoder().encode(text) : text);

const nested = (open: string, close: string, levels: number) =>
  `{"a":${open.repeat(levels - 1)}1${close.repeat(levels - 1)}}`;

describe("refused", () => {
  const refused: Record<string, string | Uint8Array> = {
    nothing: "",
    "white space": "  ",
    "not JSON": "{a:1}",
    "two values": "{} {}",
    "a trailing comma": '{"a":1,}',
    "a comment": '{"a":1}//',
    NaN: '{"a":NaN}',
    "a leading zero": '{"a":01}',
    "a raw control character": '{"a":"\u0001"}',
    "an array": "[]",
    null: "null",
    "a string": '"a"',
    "a number": "1",
    "a duplicate": '{"a":1,"a":1}',
    "a duplicate written differently": '{"a":1,"\\u0061":1}',
    "a nested duplicate": '{"m":[{"x":":","x":":"}]}',
    "a duplicate of __proto__": '{"__proto__":1,"__proto__":2}',
    "a duplicate between strings of colons": '{":":"::","b":"\\":","b":"\\\\"}',
    "a lone high surrogate": '{"a":"\\ud83d"}',
    "a lone low surrogate": '{"a":"\\uDE00"}',
    "swapped surrogates": '{"a":"\\ude00\\ud83d"}',
    "a lone surrogate in a name": '{"m":{"\\udc00":1}}',
    "2^53": '{"a":9007199254740992}',
    "-2^53": '{"a":[-9007199254740992]}',
    "an integer past 2^53": '{"a":9007199254740993}',
    "a large integer with a point": '{"a":9007199254740993.0}',
    "an integer of 30 digits": '{"a":123456789012345678901234567890}',
    "1e20, which prints as an integer": '{"a":1e20}',
    "a number that overflows": '{"a":1e400}',
    "a negative number that overflows": '{"a":-1e400}',
    "a byte order mark": '\ufeff{"a":1}',
    "invalid UTF-8": new Uint8Array([0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xff, 0x22, 0x7d]),
    "overlong UTF-8": new Uint8Array([0x7b, 0x22, 0xc0, 0x80, 0x22, 0x3a, 0x31, 0x7d]),
    "a surrogate in UTF-8": new Uint8Array([0x7b, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x3a, 0x31, 0x7d]),
    "objects too deep": nested('{"a":', "}", MAX_DEPTH + 1),
    "arrays too deep": nested("[", "]", MAX_DEPTH + 1),
    "arrays endlessly deep": `{"a":${"[".repeat(1_000_000)}`,
    "closed arrays endlessly deep": `{"a":${"[".repeat(500_000)}${"]".repeat(500_000)}}`,
  };
  for (const [name, text] of Object.entries(refused)) {
    test(name, () => expect(() => parse(text)).toThrow(JsonProblem));
  }

  test("the problem never repeats what was sent", () => {
    for (const text of ['{"secret":"hunter2"', '{"hunter2":1,"hunter2":2}', "hunter2"]) {
      expect(() => parse(text)).toThrow(expect.objectContaining({ message: expect.not.stringContaining("hunter2") }));
    }
  });
});

describe("accepted", () => {
  const accepted: Record<string, string> = {
    "an empty object": " {\r\n\t} ",
    "largest integers": '{"a":9007199254740991,"b":-9007199254740991}',
    "a number written as 1.0": '{"a":1.0}',
    "a large double": '{"a":1e300,"b":-1.7976931348623157e308}',
    "digits inside strings": '{"a":1e300,"b":"12345678901234567890123","123456789012345678901234":"x"}',
    "colons inside strings": '{"a:b":"::\\"::\\\\","c":["::"]}',
    "escaped backslashes before a quote": '{"a":"\\\\","b":"\\\\\\":","c":""}',
    "a surrogate pair as escapes": '{"a":"\\ud83d\\ude00"}',
    "names of the object prototype": '{"__proto__":{"x":1},"constructor":2,"toString":3}',
    "the same member in different objects": '{"a":{"a":{"a":1}},"b":[{"a":1},{"a":2}]}',
    "objects as deep as allowed": nested('{"a":', "}", MAX_DEPTH),
    "arrays as deep as allowed": nested("[", "]", MAX_DEPTH),
  };
  for (const [name, text] of Object.entries(accepted)) {
    test(name, () => expect(JSON.stringify(parse(text))).toBe(JSON.stringify(JSON.parse(text))));
  }
});

const json = fc.dictionary(
  fc.string({ unit: "binary" }),
  fc.jsonValue({ stringUnit: "binary", maxDepth: 6 }).filter((value) => isExact(value)),
);

function isExact(value: unknown): boolean {
  if (typeof value === "number") return Math.abs(value) <= Number.MAX_SAFE_INTEGER || Math.abs(value) >= 1e21;
  if (value === null || typeof value !== "object") return true;
  return Object.values(value).every(isExact);
}

test("every JSON object is parsed unchanged", () => {
  fc.assert(
    fc.property(json, (value) => expect(JSON.stringify(parse(JSON.stringify(value)))).toBe(JSON.stringify(value))),
  );
});

test("a duplicated member is found wherever it is", () => {
  fc.assert(
    fc.property(json, fc.string({ unit: "binary" }), fc.nat({ max: 5 }), (value, name, depth) => {
      const member = `${JSON.stringify(name)}:${JSON.stringify(value)}`;
      const text = `${'{"a":['.repeat(depth)}{${member},${member}}${"]}".repeat(depth)}`;
      expect(() => parse(text)).toThrow(JsonProblem);
    }),
  );
});
