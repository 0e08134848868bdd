import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { matchesNone, parseIfMatch } from "../../src/api/entity-tag.ts";
import { parseQuery } from "../../src/api/query.ts";
import { parseTimestamp } from "../../src/api/timestamp.ts";
import { FIRST_MOMENT_MS, LAST_MOMENT_MS, showTime } from "../../src/ids.ts";
import { Networks } from "../../src/networks.ts";
import { Problem } from "../../src/problem.ts";
import { RequestIds } from "../../src/serve/http/pipeline/exchange.ts";

describe("timestamps", () => {
  const good: Record<string, string> = {
    "2026-01-31T08:00:00Z": "2026-01-31T08:00:00.000Z",
    "2026-01-31t08:00:00z": "2026-01-31T08:00:00.000Z",
    "2026-01-31T08:00:00+02:00": "2026-01-31T06:00:00.000Z",
    "2026-01-31T08:00:00-23:59": "2026-02-01T07:59:00.000Z",
    "2026-01-31T08:00:00-00:00": "2026-01-31T08:00:00.000Z",
    "2026-01-31T08:00:00.5Z": "2026-01-31T08:00:00.500Z",
    "2026-01-31T08:00:00.001Z": "2026-01-31T08:00:00.001Z",
    "2026-01-31T08:00:00.0010000Z": "2026-01-31T08:00:00.001Z",
    "2026-01-31T08:00:00.0010001Z": "2026-01-31T08:00:00.002Z",
    "2026-01-31T08:00:00.9999999Z": "2026-01-31T08:00:01.000Z",
    "2024-02-29T00:00:00Z": "2024-02-29T00:00:00.000Z",
    "0001-01-01T00:00:00Z": "0001-01-01T00:00:00.000Z",
    "9999-12-31T23:59:59.999Z": "9999-12-31T23:59:59.999Z",
    "9999-12-31T23:59:59.9999999Z": "9999-12-31T23:59:59.999Z",
    "9999-12-31T23:59:59.999999+00:00": "9999-12-31T23:59:59.999Z",
    "9999-12-31T23:59:59-00:01": "9999-12-31T23:59:59.999Z",
    "9999-12-31T00:00:00-23:59": "9999-12-31T23:59:00.000Z",
    "0001-01-01T00:00:00+01:00": "0000-12-31T23:00:00.000Z",
    "0000-01-01T00:00:00+00:01": "0000-01-01T00:00:00.000Z",
  };
  for (const [text, expected] of Object.entries(good)) {
    test(text, () => expect(new Date(parseTimestamp(text) as number).toISOString()).toBe(expected));
  }
  for (const text of [
    "",
    "2026-01-31",
    "2026-01-31T08:00Z",
    "2026-01-31T08:00:00",
    "2026-01-31 08:00:00Z",
    "2026-02-29T00:00:00Z",
    "2026-04-31T00:00:00Z",
    "2026-00-01T00:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-01-00T00:00:00Z",
    "2026-01-31T24:00:00Z",
    "2026-01-31T08:60:00Z",
    "2026-12-31T23:59:60Z",
    "2026-01-31T08:00:00+24:00",
    "2026-01-31T08:00:00+02:60",
    "2026-01-31T08:00:00+0200",
    "2026-01-31T08:00:00+02",
    "2026-01-31T08:00:00.Z",
    "2026-01-31T08:00:00,5Z",
    "+002026-01-31T08:00:00Z",
    "1767225600",
    "2026-01-31T08:00:00Z ",
    `2026-01-31T08:00:00.${"0".repeat(100)}Z`,
  ]) {
    test(`refused: ${text.slice(0, 40)}`, () => expect(parseTimestamp(text)).toBeNull());
  }
  test("agrees with Date on every day", () => {
    fc.assert(
      fc.property(
        fc.date({ min: new Date("0001-01-01"), max: new Date("9999-12-31"), noInvalidDate: true }),
        (date) => {
          expect(parseTimestamp(date.toISOString())).toBe(date.getTime());
        },
      ),
    );
  });
});

/** The moment that a time names, ms since the Unix epoch and rounded up, in whole numbers and without `Date`. */
function momentOf({ year, month, day, seconds, fraction, offset }: Parts): number {
  // Days since 0000-03-01, so that a leap day is the last day of a year.
  const [y, m] = month > 2 ? [year, month - 3] : [year - 1, month + 9];
  const days = 365n * BigInt(y) + BigInt(Math.floor(y / 4) - Math.floor(y / 100) + Math.floor(y / 400));
  const dayOfYear = BigInt(Math.floor((153 * m + 2) / 5) + day - 1);
  const whole = (days + dayOfYear - 719_468n) * 86_400n + BigInt(seconds) - 60n * BigInt(offset);
  const nanos = whole * 1_000_000_000n + BigInt(fraction.padEnd(9, "0"));
  const floor = nanos / 1_000_000n - (nanos % 1_000_000n < 0n ? 1n : 0n);
  return Number(floor * 1_000_000n === nanos ? floor : floor + 1n);
}

interface Parts {
  year: number;
  month: number;
  day: number;
  /** Of the day. */
  seconds: number;
  /** Up to nine digits. */
  fraction: string;
  /** East of UTC, minutes. */
  offset: number;
}

const two = (number: number) => `${number}`.padStart(2, "0");

function textOf({ year, month, day, seconds, fraction, offset }: Parts, [t, z]: readonly [string, string]): string {
  const clock = [seconds / 3_600, (seconds / 60) % 60, seconds % 60].map((part) => two(Math.floor(part))).join(":");
  const zone =
    offset === 0
      ? z
      : `${offset < 0 ? "-" : "+"}${two(Math.floor(Math.abs(offset) / 60))}:${two(Math.abs(offset) % 60)}`;
  return `${`${year}`.padStart(4, "0")}-${two(month)}-${two(day)}${t}${clock}${fraction && `.${fraction}`}${zone}`;
}

test("a time is the moment that it names, in all years, with all offsets and fractions; its text has four digits for the year and sorts like it", () => {
  const parts = fc.record({
    year: fc.oneof(fc.integer({ min: 0, max: 9_999 }), fc.constantFrom(0, 1, 1_969, 1_970, 2_000, 2_024, 9_998, 9_999)),
    month: fc.oneof(fc.integer({ min: 1, max: 12 }), fc.constantFrom(1, 2, 12)),
    day: fc.oneof(fc.integer({ min: 1, max: 28 }), fc.constantFrom(1, 28)),
    seconds: fc.oneof(fc.integer({ min: 0, max: 86_399 }), fc.constantFrom(0, 86_399)),
    fraction: fc.oneof(
      fc.stringMatching(/^\d{0,9}$/),
      fc.constantFrom("", "9", "999", "9999999", "999999999", "0000001", "000"),
    ),
    offset: fc.oneof(fc.integer({ min: -1_439, max: 1_439 }), fc.constantFrom(0, -1, 1, -1_439, 1_439, 60, -300)),
  });
  const letters = fc.constantFrom(["T", "Z"], ["t", "z"], ["T", "+00:00"], ["T", "-00:00"]) as fc.Arbitrary<
    [string, string]
  >;
  // The last days of a month beside those that every month has.
  const last = fc.record({ month: fc.constantFrom(1, 3, 5, 7, 8, 10, 12), day: fc.constant(31) });
  const any = fc.oneof(
    parts,
    fc.tuple(parts, last).map(([one, end]) => ({ ...one, ...end })),
  );
  const bounded = (ms: number) => Math.min(Math.max(ms, FIRST_MOMENT_MS), LAST_MOMENT_MS);
  fc.assert(
    fc.property(any, any, letters, (one, other, form) => {
      const [ms, otherMs] = [one, other].map((each) => parseTimestamp(textOf(each, form)) as number) as [
        number,
        number,
      ];
      expect([textOf(one, form), ms]).toEqual([textOf(one, form), bounded(momentOf(one))]);
      expect(showTime(ms)).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      expect(showTime(ms) < showTime(otherMs)).toBe(ms < otherMs);
    }),
    { numRuns: 3_000 },
  );
});

describe("If-Match", () => {
  const cases: [string, ReturnType<typeof parseIfMatch>][] = [
    ["*", { exists: true }],
    ['"v3"', { versions: ["v3"] }],
    ['"v1", "v2"', { versions: ["v1", "v2"] }],
    ['"v1","v2" ,\t"v3"', { versions: ["v1", "v2", "v3"] }],
    ['W/"v1"', { versions: [] }],
    ['W/"v1", "v2"', { versions: ["v2"] }],
    [', "v1",, "v2",', { versions: ["v1", "v2"] }],
    ['""', { versions: [""] }],
    ['"a,b"', { versions: ["a,b"] }],
    ["v3", null],
    ["", null],
    [",", null],
    ['"v3', null],
    ['"v3" "v4"', null],
    ['*, "v3"', null],
    ['w/"v3"', null],
  ];
  for (const [header, expected] of cases) {
    test(JSON.stringify(header), () => expect(parseIfMatch(header)).toEqual(expected));
  }
  test("If-None-Match compares weakly", () => {
    expect(matchesNone('W/"v3"', "v3")).toBe(true);
    expect(matchesNone('"v1", "v3"', "v3")).toBe(true);
    expect(matchesNone("*", "v3")).toBe(true);
    expect(matchesNone('"v1"', "v3")).toBe(false);
    expect(matchesNone("v3", "v3")).toBe(false);
  });
});

describe("query strings", () => {
  test("are decoded", () => {
    expect([...parseQuery("a=1&b=%C3%A9+%2B%26&c&&d=x=y&%61b=")]).toEqual([
      ["a", "1"],
      ["b", "é +&"],
      ["c", ""],
      ["d", "x=y"],
      ["ab", ""],
    ]);
  });
  for (const text of ["a=1&a=1", "a=1&%61=2", "a=%", "a=%z1", "a=%4", "a=%ff", "a=%ED%A0%80", "%ff=1", "a=%C0%80"]) {
    test(`refused: ${text}`, () => expect(() => parseQuery(text)).toThrow(Problem));
  }
  test("whatever a form encoder writes is read back", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: "grapheme" }), fc.string({ unit: "grapheme" })), (record) => {
        const text = new URLSearchParams(record).toString();
        expect(new Map(parseQuery(text))).toEqual(new Map(new URLSearchParams(text)));
      }),
    );
  });
});

test("request ids: the client's when harmless, else unique", () => {
  const ids = new RequestIds((length) => new Uint8Array(length));
  expect(ids.of("abc.DEF-1_2")).toBe("abc.DEF-1_2");
  const made = [null, "", "a b", "ä", "a".repeat(129), "a\u0000"].map((header) => ids.of(header));
  for (const id of made) expect(id).toMatch(/^req_[0-9a-f]{24}$/);
  expect(new Set(made).size).toBe(made.length);
});

describe("trusted proxies", () => {
  const proxies = new Networks(["10.0.0.0/8", "192.168.1.7", "2001:db8::/32", "::1"]);
  const cases: [string, boolean][] = [
    ["10.255.0.1", true],
    ["::ffff:10.1.2.3", true],
    ["192.168.1.7", true],
    ["192.168.1.8", false],
    ["2001:db8:ffff::1", true],
    ["2001:db9::1", false],
    ["::1", true],
    ["127.0.0.1", false],
    ["nonsense", false],
    ["", false],
  ];
  for (const [peer, expected] of cases) {
    test(`${peer} ${expected}`, () => expect(proxies.includes(peer)).toBe(expected));
  }
  for (const entry of ["", "10.0.0.0/33", "10.0.0/8", "::/129", "10.0.0.0/", "10.0.0.0/8/8", "host", "10.0.0.0/-1"]) {
    test(`refused: ${entry}`, () => expect(() => new Networks([entry])).toThrow(TypeError));
  }
});
