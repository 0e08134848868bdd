/** What mode `redact` stores keeps the syntax of what was written: JSON, tables, settings files. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { JsonObject, JsonValue } from "../../src/json.ts";
import { decide, decideAsItIs } from "../../src/screen/decide.ts";
import { policiesOf } from "../../src/screen/policies.ts";
import { effort } from "../effort.ts";
import { SEED } from "../seed.ts";

const REDACT = policiesOf({ policies: { screening: { pii: { mode: "redact" }, secrets: { mode: "redact" } } } });

/** What is stored of a value; null when it is refused. What is stored is stored unchanged when it is written again. */
function storedOf(value: string, metadata: JsonObject = {}): { value: string; metadata: JsonObject } | null {
  const decision = decide(REDACT, { key: "notes/1", value, metadata });
  if (!decision.allowed) return null;
  const stored = decision.found?.redacted ?? { value, metadata };
  expect(decideAsItIs(REDACT, { key: "notes/1", ...stored }).allowed, JSON.stringify(stored)).toBe(true);
  return stored;
}
const storedValue = (value: string): string | undefined => storedOf(value)?.value;

/** Members in which something is found, and what must not be stored. */
const SENSITIVE: readonly (readonly [name: string, value: JsonValue, gone: string])[] = [
  ["card", 4929722653797141, "4929722653797141"],
  ["payment", { card_number: 4929722653797141 }, "4929722653797141"],
  ["card", "4929 7226 5379 7141", "5379"],
  ["phone", 4930901820123, "4930901820123"],
  ["phones", ["+49 30 901820", "+49 30 901821"], "901821"],
  ["account_number", 452013988712, "452013988712"],
  ["date_of_birth", "1971-11-23", "1971-11-23"],
  ["dob", 19711123, "19711123"],
  ["pin_code", 8036, "8036"],
  ["pins", [8036, 5527, 6194], "5527"],
  ["contact", 'say "hi" to anna.berg@posteo.de\n', "anna.berg"],
  ["contact", "ruf an: \u00fc\ud83d\ude42 anna.berg@posteo.de", "anna.berg"],
  ["iban", "DE89370400440532013000", "0532013000"],
  ["command", "mysql -u root -pKranich_77x shop", "Kranich_77x"],
  ["command", "mysql -pKranich_77x", "Kranich_77x"],
  ["form", "password=Kranich_77x&user=anna", "Kranich_77x"],
  ["password", "Kranich_77x", "Kranich_77x"],
  ["passwords", ["Kranich_77x", "Pirol-204b", "Zeisig!905"], "Pirol-204b"],
  ["backup_codes", ["6193-2058", "8827-4410", "3071-9925"], "8827-4410"],
  ["arguments", JSON.stringify({ card: 4929722653797141, note: 'a "b"' }), "4929722653797141"],
  ["export", "name,card\nanna,4929722653797141\n", "4929722653797141"],
  ["env", "USER=anna\nPASSWORD=Kranich_77x\n", "Kranich_77x"],
  ["url", "postgres://app:Kranich_77x@db.internal/app", "Kranich_77x"],
  ["address", { street: "Ahornweg 17", zip: "50668", city: "Köln" }, "Ahornweg 17"],
  ["address", { line1: "Ahornweg 17", line2: "50668 Köln" }, "Ahornweg 17"],
  ["recipient", "Anna Berg, Ahornweg 17, 50668 Köln", "Ahornweg 17"],
];

const harmlessName = fc.constantFrom("kept", "note", "state", "step", "größe", "size", "x y");
const harmless: fc.Arbitrary<JsonValue> = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 2 },
    fc.constantFrom<JsonValue>(
      null,
      true,
      false,
      0,
      7,
      -1.5,
      1e21,
      "",
      "went home",
      'a "b" \\ c',
      "one\ntwo",
      "🙂",
      "\u2028",
    ),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(harmlessName, tie("value"), { maxKeys: 3 }),
  ),
})).value;

interface Document {
  json: string;
  /** The document without its sensitive members. */
  rest: JsonValue;
  gone: string;
  path: readonly string[];
  name: string;
}

/** Reads the objects along a path. */
const objectAt = (value: JsonValue, path: readonly string[]): JsonObject =>
  path.reduce((object, name) => object[name] as JsonObject, value as JsonObject);

const documents: fc.Arbitrary<Document> = fc
  .record({
    sensitive: fc.constantFrom(...SENSITIVE),
    before: fc.dictionary(harmlessName, harmless, { maxKeys: 3 }),
    after: fc.dictionary(harmlessName, harmless, { maxKeys: 3 }),
    path: fc.array(fc.constantFrom("state", "messages", "user"), { maxLength: 3 }),
    indent: fc.constantFrom(undefined, 2, "\t"),
    isAscii: fc.boolean(),
    hasBom: fc.boolean(),
    lineEnd: fc.constantFrom("\n", "\r\n"),
  })
  .map(({ sensitive: [name, value, gone], before, after, path, indent, isAscii, hasBom, lineEnd }) => {
    const wrapped = (inner: JsonObject) => path.reduceRight<JsonValue>((one, part) => ({ [part]: one }), inner);
    const text = JSON.stringify(wrapped({ ...before, [name]: value, ...after }), null, indent).replaceAll(
      "\n",
      lineEnd,
    );
    const json = isAscii
      ? text.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
      : text;
    return { json: (hasBom ? "\ufeff" : "") + json, rest: wrapped({ ...before, ...after }), gone, path, name };
  });

/** The shape of a value: its names and the number of items. */
const shapeOf = (value: JsonValue): JsonValue => {
  if (Array.isArray(value)) return value.map(shapeOf);
  if (value === null || typeof value !== "object") return 0;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, shapeOf(one as JsonValue)]));
};
const parsed = (json: string): JsonValue => JSON.parse(json.replace(/^\ufeff/, "")) as JsonValue;

test("JSON stays JSON of the same shape, and other members are what they were", () => {
  fc.assert(
    fc.property(documents, ({ json, rest, gone, path, name }) => {
      const stored = storedValue(json);
      expect(stored, json).toBeDefined();
      expect(stored?.includes(gone), stored).toBe(false);
      const back = parsed(stored as string);
      expect(shapeOf(back)).toEqual(shapeOf(parsed(json)));
      delete objectAt(back, path)[name];
      expect(back).toEqual(rest);
      // What stands around the replaced member is the same, byte for byte.
      const at = json.indexOf(`"${name}"`, json.lastIndexOf(`"${name}"`));
      expect(stored?.startsWith(json.slice(0, at))).toBe(true);
    }),
    { numRuns: effort({ usual: 400, long: 20_000 }), seed: SEED },
  );
});

test("strings inside JSON that are JSON stay JSON", () => {
  const inner = { card: 4929722653797141, kept: ['"', "\\", "\n"] };
  const once = JSON.stringify({ arguments: JSON.stringify(inner) });
  const twice = JSON.stringify({ body: once, kept: 1 });
  const back = parsed(storedValue(twice) as string) as { body: string };
  const { arguments: text } = parsed(back.body) as { arguments: string };
  expect(parsed(text)).toEqual({ ...inner, card: "[redacted:credit_card]" });
});

test("each line of JSON stays JSON, and JSON inside a text does", () => {
  const lines = [{ card: 4929722653797141 }, { kept: "yes" }, { mail: "anna.berg@posteo.de" }];
  const stored = storedValue(`${lines.map((line) => JSON.stringify(line)).join("\n")}\n`);
  expect(stored?.trim().split("\n").map(parsed)).toEqual([
    { card: "[redacted:credit_card]" },
    { kept: "yes" },
    { mail: "[redacted:email]" },
  ]);
  expect(storedValue('Result:\n```json\n{\n  "pin_code": 8036,\n  "kept": 1\n}\n```\n')).toBe(
    'Result:\n```json\n{\n  "pin_code": "[redacted:generic_credential]",\n  "kept": 1\n}\n```\n',
  );
  expect(storedValue('12:04 INFO paid {"card":4929722653797141,"kept":1}')).toBe(
    '12:04 INFO paid {"card":"[redacted:credit_card]","kept":1}',
  );
});

describe("the whole value", () => {
  test.each([
    ["4929722653797141", '"[redacted:credit_card]"'],
    ['"anna.berg@posteo.de"', '"[redacted:email]"'],
    ["4929 7226 5379 7141", "[redacted:credit_card]"],
    ["[4929722653797141, 7]", '["[redacted:credit_card]", 7]'],
  ])("%s", (value, stored) => {
    expect(storedValue(value)).toBe(stored);
  });
});

test("a name of JSON is not changed: what is found in one is refused", () => {
  expect(storedValue('{"anna.berg@posteo.de": {"seen": 3}}')).toBeUndefined();
  expect(storedValue('{"user": {"anna.berg@posteo.de": "anna.berg@posteo.de"}}')).toBeUndefined();
});

test("of members with the same name, each is replaced", () => {
  expect(storedValue('{"mail":"anna.berg@posteo.de","mail":"lena.busch@posteo.de","mail":1}')).toBe(
    '{"mail":"[redacted:email]","mail":"[redacted:email]","mail":1}',
  );
});

test("metadata keeps strings that are JSON, and a number becomes the mark alone", () => {
  const metadata = { card: 4929722653797141, text: "4929722653797141", state: '{"card":4929722653797141,"kept":1}' };
  expect(storedOf("x", metadata)?.metadata as object).toEqual({
    card: "[redacted:credit_card]",
    text: "[redacted:credit_card]",
    state: '{"card":"[redacted:credit_card]","kept":1}',
  });
});

/** Cells in which something is found, with the name of their column. */
const CELLS: readonly (readonly [name: string, cell: string, gone: string])[] = [
  ["mail", "anna.berg@posteo.de", "anna.berg"],
  ["card", "4929722653797141", "4929722653797141"],
  ["password", "Kranich_77x", "Kranich_77x"],
  ["phone", "+49 30 901820", "901820"],
  ["street", "Ahornweg 17, 50668 Köln", "Ahornweg 17"],
  ["iban", "DE89 3704 0044 0532 0130 00", "0532"],
  ["note", 'say "anna.berg@posteo.de", please', "anna.berg"],
  ["command", "mysql -pKranich_77x", "Kranich_77x"],
];
const cellOf = (text: string, separator: string): string =>
  /["\n]/.test(text) || text.includes(separator) ? `"${text.replaceAll('"', '""')}"` : text;
/** Slow and simple: the cells of a table. */
function tableOf(text: string, separator: string): string[][] {
  const rows: string[][] = [[""]];
  let isQuoted = false;
  for (const [at, sign] of [...text].entries()) {
    const row = rows.at(-1) as string[];
    if (sign === '"') {
      if (!isQuoted && text[at - 1] === '"') row[row.length - 1] += sign;
      isQuoted = !isQuoted;
    } else if (!isQuoted && sign === separator) row.push("");
    else if (!isQuoted && sign === "\n") rows.push([""]);
    else row[row.length - 1] += sign;
  }
  return rows.filter((row) => row.length > 1);
}

test("a table keeps its rows and columns, and its other cells", () => {
  const plain = fc.constantFrom("kept", "7", "", "went home", 'a "b"', "x, y; z");
  const tables = fc.record({
    sensitive: fc.constantFrom(...CELLS),
    rows: fc.array(fc.tuple(plain, plain), { minLength: 1, maxLength: 4 }),
    separator: fc.constantFrom(",", ";", "\t"),
  });
  fc.assert(
    fc.property(tables, ({ sensitive: [name, cell, gone], rows, separator }) => {
      const table = [["first", name, "last"], ...rows.map(([one, two]) => [one, cell, two])];
      const text = `${table.map((row) => row.map((one) => cellOf(one, separator)).join(separator)).join("\n")}\n`;
      const stored = storedValue(text) as string;
      expect(stored.includes(gone), stored).toBe(false);
      const back = tableOf(stored, separator);
      expect(
        back.map((row) => row.length),
        stored,
      ).toEqual(table.map(() => 3));
      for (const [at, row] of back.entries())
        expect([row[0], row[2]], stored).toEqual([table[at]?.[0], table[at]?.[2]]);
      expect(back[0]).toEqual(table[0]);
    }),
    { numRuns: effort({ usual: 300, long: 10_000 }), seed: SEED },
  );
});

test("a settings file keeps its lines and names, and its other values", () => {
  const members = fc.constantFrom(
    ...(
      [
        ["PASSWORD", "Kranich_77x", "Kranich_77x"],
        ["DATABASE_URL", "postgres://app:Kranich_77x@db.internal/app", "Kranich_77x"],
        ["BACKUP", '"mysql -pKranich_77x"', "Kranich_77x"],
        ["MAIL", "anna.berg@posteo.de", "anna.berg"],
        ["PHONE", "'+49 30 901820'", "901820"],
        ["ADDRESS", '"Ahornweg 17, 50668 Köln"', "Ahornweg 17"],
        ["PASSWORDS", "Kranich_77x,Pirol-204b", "Pirol-204b"],
        ["CARD_PIN", "8036", "8036"],
      ] as const
    ).map((member) => member),
  );
  const others = fc.array(fc.constantFrom("HOST=db01", "# kept", "", "DEBUG=true", "export LEVEL='info'", "EMPTY="), {
    maxLength: 3,
  });
  const end = fc.constantFrom("\n", "\r\n");
  fc.assert(
    fc.property(others, members, others, end, (before, [name, value, gone], after, lineEnd) => {
      const lines = [...before, `${name}=${value}`, ...after];
      const stored = storedValue(lines.join(lineEnd) + lineEnd) as string;
      expect(stored.includes(gone), stored).toBe(false);
      const back = stored.split(lineEnd);
      expect(back).toHaveLength(lines.length + 1);
      for (const [at, line] of lines.entries()) {
        if (at !== before.length) expect(back[at]).toBe(line);
        else expect(back[at]).toStartWith(`${name}=`);
      }
      const quote = /^["']/.exec(value)?.[0] ?? "";
      expect(back[before.length]).toStartWith(`${name}=${quote}`);
      expect(back[before.length]).toEndWith(quote);
    }),
    { numRuns: effort({ usual: 200, long: 10_000 }), seed: SEED },
  );
});

test("the members of YAML keep their names", () => {
  expect(storedValue("name: A.\nstreet: Ahornweg 17\nzip: 50668\ncity: Köln\nkept: yes\n")).toMatch(
    /^name: A\.\nstreet: \[redacted:postal_address\]\nzip: .+\ncity: .+\nkept: yes\n$/,
  );
});

test("a match that reads on over the end of a row reaches no other row", () => {
  const stored = storedValue("id\tnote\tkept\n1\tAhornweg 17, 50668 Köln\tyes\n2\twent home\tno\n");
  expect(stored).toStartWith("id\tnote\tkept\n1\t[redacted:postal_address]\t");
  expect(stored).toEndWith("\n2\twent home\tno\n");
});
