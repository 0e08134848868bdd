/** Bodies that are parsed in pieces are taken and refused as those that are parsed at once. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { parseLargeJson } from "../../src/serve/http/pipeline/large-json.ts";
import { JsonProblem, MAX_DEPTH, parseStrictJson } from "../../src/serve/http/pipeline/strict-json.ts";

const encoder = new TextEncoder();

const REFUSED = Symbol("refused");

async function outcome(parse: () => unknown): Promise<unknown> {
  try {
    return await parse();
  } catch (error) {
    if (error instanceof JsonProblem) return REFUSED;
    throw error;
  }
}

/** Compares both ways. Returns what they come to. */
async function both(text: string): Promise<unknown> {
  const bytes = encoder.encode(text);
  const [whole, pieces] = [
    await outcome(() => parseStrictJson(bytes)),
    await outcome(() => parseLargeJson(bytes, { piece: 0 })),
  ];
  expect({ text, value: pieces }).toEqual({ text, value: whole });
  // In the same order, since an answer may repeat it.
  if (whole !== REFUSED) expect(JSON.stringify(pieces)).toBe(JSON.stringify(whole));
  return whole;
}

const deep = (levels: number) => `{"l":[${"[".repeat(levels)}${"]".repeat(levels)}]}`;

test("what is special about lists and their elements", async () => {
  const taken = [
    '{"l":[]}',
    '{"l":[ ]}',
    '{"l":[1]}',
    ' {"a":1,"l":[1, {"x":[2,"],["]} ,"\\\\",[[]] ],"z":{}} ',
    '{"l":[1,2],"1":[3]}',
    '{"1":[1],"l":[2,3]}',
    '{"o":{"l":[1,2]},"l":[3]}',
    '{"__proto__":[1,2]}',
    deep(MAX_DEPTH - 2),
    `{"l":[${"1,".repeat(20_000)}1]}`,
  ];
  const refused = [
    "",
    "[[1,2]]",
    '{"l":[1,]}',
    '{"l":[,1]}',
    '{"l":[,]}',
    '{"l":[1 2]}',
    '{"l":[1],"l":[2]}',
    '{"l":[{"a":1,"a":2}]}',
    '{"l":[1}',
    '{"l":[1',
    '{"l":["',
    '{"l":[{]}]}',
    '{"l":[1]]}',
    '{"l":[1]}}',
    '{"l":[1]} x',
    '{"l":["\\ud800"]}',
    '{"l":[9007199254740993]}',
    '{"l":[\ufeff1]}',
    '\ufeff{"l":[1]}',
    deep(MAX_DEPTH - 1),
  ];
  for (const text of taken) expect([text, (await both(text)) !== REFUSED]).toEqual([text, true]);
  for (const text of refused) expect([text, await both(text)]).toEqual([text, REFUSED]);
});

const MIB = 1024 * 1024;

test("no turn of the event loop has much of the work of the largest body", async () => {
  const operations = Array.from({ length: 900 }, (_, i) => ({ key: `${i}`, value: "größe 日本 ".repeat(1_200) }));
  const bytes = encoder.encode(JSON.stringify({ agent_id: "a", operations }));
  expect(bytes.length).toBeGreaterThan(15 * MIB);
  // The elements that each turn parses, and turns that only look where they are.
  const turns = [0];
  let ended = false;
  const watch = () => {
    turns.push(0);
    if (!ended) setImmediate(watch);
  };
  setImmediate(watch);
  await parseLargeJson(bytes, { onElement: () => void turns.push((turns.pop() ?? 0) + 1) });
  ended = true;
  expect(turns.reduce((sum, parsed) => sum + parsed)).toBe(operations.length);
  expect(Math.max(...turns)).toBeLessThan(operations.length / 20);
  expect(turns.filter((parsed) => parsed === 0).length).toBeGreaterThan(20);
});

test("what is too long for one turn is refused", async () => {
  const long = "x".repeat(8 * MIB);
  for (const body of [{ agent_id: long, operations: [] }, { operations: [{ value: long }] }, { operations: long }]) {
    expect(await outcome(() => parseLargeJson(encoder.encode(JSON.stringify(body))))).toBe(REFUSED);
  }
});

test("any body, and any body with something changed", async () => {
  const body = fc.dictionary(fc.string(), fc.oneof(fc.jsonValue(), fc.array(fc.jsonValue())), { maxKeys: 3 });
  const part = fc.constantFrom("", "[", "]", "{", "}", ",", ":", '"', "\\", " ", "0", "[1,2]", '"l":[');
  await fc.assert(
    fc.asyncProperty(body, fc.nat(), fc.nat(3), part, async (value, at, length, inserted) => {
      const text = JSON.stringify(value);
      await both(text);
      const start = at % (text.length + 1);
      await both((text.slice(0, start) + inserted + text.slice(start + length)).toWellFormed());
    }),
    { numRuns: 300 },
  );
});
