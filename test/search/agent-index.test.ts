import { afterEach, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { AgentIndex } from "../../src/search/index/agent-index.ts";

const open: AgentIndex[] = [];

/** An index of these values, whose keys are `k0`, `k1` … unless given, and whose ids are their places. */
function indexOf(entries: (string | { key: string; value: string; metadata?: unknown })[]): AgentIndex {
  const index = new AgentIndex();
  open.push(index);
  entries.forEach((entry, id) => {
    index.add(id, typeof entry === "string" ? { key: `k${id}`, value: entry } : entry);
  });
  return index;
}

function ids(index: AgentIndex, query: string, options: { limit?: number; prefix?: string } = {}): number[] {
  return index.search(query, { limit: 10, ...options }).map(({ id }) => id);
}

afterEach(() => {
  for (const index of open.splice(0)) index.close();
});

describe("what is found", () => {
  const notes = [
    "The elevator was repaired on Monday.",
    "Salaries are paid on the last working day.",
    "Order ERR-1093 failed for user_42 at 10.4.2.17.",
    "Function parseIsoDuration throws on negative input, see src/time/duration.ts.",
    "Crème brûlée is the favourite dessert of Zoë.",
    "用户喜欢在北京喝绿茶",
    "今日は東京で会議があります",
    "ผู้ใช้ชอบดื่มกาแฟดำตอนเช้า",
    "Пользователь живёт в Москве",
    "The customer complained about the quarterly invoice.",
  ];
  const cases: [query: string, first: number][] = [
    ["broken lift", 0],
    ["when do employees get their wages", 1],
    ["err-1093", 2],
    ["1093", 2],
    ["user_42", 2],
    ["10.4.2.17", 2],
    ["parseisoduration", 3],
    ["duration.ts", 3],
    ["creme brulee", 4],
    ["ZOE", 4],
    ["绿茶", 5],
    ["北京", 5],
    ["会議", 6],
    ["กาแฟ", 7],
    ["москве", 8],
    ["custommer complaned", 9],
    ["quaterly invoce", 9],
  ];
  for (const [query, first] of cases) {
    test(query, () => expect(ids(indexOf(notes), query)[0]).toBe(first));
  }

  test("names of languages with punctuation are told apart", () => {
    const languages = ["plain C code", "the C# port", "written in C++ now", "the .NET 8 runtime", "net income rose"];
    for (const [query, first] of [
      ["C++", 2],
      ["c#", 1],
      [".net", 3],
      ["C", 0],
    ] as const) {
      expect([query, ids(indexOf(languages), query)[0]]).toEqual([query, first]);
    }
  });
  const marked = [
    "✅ billing, ❌ search",
    "The 🥐 shop opens at seven",
    "On call: 👩🏽‍💻 Mia, 🇰🇷 office ❤️",
    "Step 2️⃣ costs 5 € ✓ done",
    "The kettle is broken 👍🏿",
    "Family plan 👨‍👩‍👧, shrug 🤷‍♀️",
  ];
  for (const [query, found] of [
    ["❌", [0]],
    ["🥐", [1]],
    ["👩‍💻", [2]],
    ["🇰🇷", [2]],
    ["❤", [2]],
    ["2️⃣", [3]],
    ["€", [3]],
    ["✓", [3]],
    ["👍🏻", [4]],
    ["👨‍👩‍👧", [5]],
    ["🤷", [5]],
    ["🇯🇵", []],
    ["👩", []],
    ["🍞", []],
  ] as const) {
    test(`the symbol ${query}`, () => expect(ids(indexOf(marked), query)).toEqual([...found]));
  }
  test("an empty index, an empty query and one of punctuation find nothing", () => {
    expect(ids(indexOf([]), "anything")).toEqual([]);
    expect(ids(indexOf(notes), "")).toEqual([]);
    expect(ids(indexOf(notes), "?!")).toEqual([]);
  });

  test("a query of stop words alone still matches them", () => {
    expect(ids(indexOf(["to be or not to be", "green tea"]), "to be or not to be")).toEqual([0]);
  });

  test("key and metadata count, the value most", () => {
    const index = indexOf([
      { key: "a", value: "unrelated words here", metadata: { tags: ["invoices"], depth: { source: "ledger" } } },
      { key: "invoices/2024", value: "unrelated words here" },
      { key: "b", value: "all invoices of the year" },
      { key: "c", value: "nothing of the kind" },
    ]);
    expect(ids(index, "invoices").slice(0, 3).sort()).toEqual([0, 1, 2]);
    expect(ids(index, "invoices")[0]).toBe(2);
    expect(ids(index, "ledger")[0]).toBe(0);
  });

  test("a sentence in the middle of a value of 1 MiB is found", () => {
    const filler = "the weather was fine and nothing happened at all today ".repeat(19_000).slice(0, 1_040_000);
    const value = `${filler.slice(0, 500_000)} The spare key is hidden under the blue flowerpot. ${filler.slice(500_000)}`;
    const index = indexOf(["weather report", value, "flowers were delivered"]);
    expect(ids(index, "where is the spare key hidden")[0]).toBe(1);
    expect(index.memoryBytes).toBeLessThan(4_000_000);
  });

  test("a query of a megabyte is answered", () => {
    expect(ids(indexOf(notes), "invoice ".repeat(130_000))[0]).toBe(9);
    expect(ids(indexOf(notes), "x".repeat(1_000_000))).toEqual([]);
  });
});

describe("options", () => {
  const entries = [
    { key: "notes/1", value: "red apple" },
    { key: "notes/2", value: "red apple pie" },
    { key: "mail/1", value: "red apple" },
  ];

  test("limit", () => expect(ids(indexOf(entries), "apple", { limit: 1 })).toHaveLength(1));
  test("prefix is literal", () => {
    expect(ids(indexOf(entries), "apple", { prefix: "notes/" })).toEqual([0, 1]);
    expect(ids(indexOf(entries), "apple", { prefix: "%" })).toEqual([]);
  });
  test("entries with equal scores are ordered by id", () =>
    expect(ids(indexOf(["same", "same", "same"]), "same")).toEqual([0, 1, 2]));
  test("minSimilarity cuts the tail and keeps the order", () => {
    const index = indexOf(["red apple", "green pear", "the stock market fell"]);
    const all = index.search("red apple", { limit: 10 });
    const floor = all[0]?.similarity as number;
    expect(index.search("red apple", { limit: 10, minSimilarity: floor })).toEqual(all.slice(0, 1));
  });
});

test("similarity lies between 0 and 1 and falls from the same text to an unrelated one", () => {
  const index = indexOf([
    "The train to Porto leaves at nine.",
    "MoveToServer of the railway to Lisbon",
    "Cats like milk",
  ]);
  const hits = index.search("The train to Porto leaves at nine.", { limit: 10 });
  for (const { similarity } of hits) {
    expect(similarity).toBeGreaterThan(0);
    expect(similarity).toBeLessThan(1);
  }
  expect(hits[0]?.id).toBe(0);
  expect(hits[0]?.similarity).toBeGreaterThan(0.8);
  expect(hits.find(({ id }) => id === 2)?.similarity ?? 0).toBeLessThan(0.3);
});

test("one agent's entries do not change another's answers", () => {
  const index = indexOf(["red apple", "green pear", "blue plum"]);
  const before = index.search("red pear", { limit: 10 });
  const other = indexOf(Array.from({ length: 500 }, (_, i) => `red pear number ${i}`));
  other.search("red pear", { limit: 10 });
  expect(index.search("red pear", { limit: 10 })).toEqual(before);
});

const WORDS = "apple pear plum train trains porto invoice invoices user_42 ERR-7 茶 the of Müller wages".split(" ");
const text = fc.array(fc.constantFrom(...WORDS), { maxLength: 40 }).map((words) => words.join(" "));
const step = fc.record({ id: fc.nat(7), value: fc.option(text, { nil: undefined }), key: text });

test("after any history the index returns what a rebuilt one returns", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), text, (steps, query) => {
      const lived = new AgentIndex();
      const entries = new Map<number, { key: string; value: string }>();
      for (const { id, value, key } of steps) {
        if (value === undefined) {
          expect(lived.remove(id)).toBe(entries.delete(id));
        } else {
          lived.add(id, { key, value });
          entries.set(id, { key, value });
        }
      }
      const rebuilt = new AgentIndex();
      for (const [id, entry] of [...entries].reverse()) rebuilt.add(id, entry);
      for (const asked of [query, "aple wage", "invoces"]) {
        expect(lived.search(asked, { limit: 10 })).toEqual(rebuilt.search(asked, { limit: 10 }));
      }
      expect(lived.size).toBe(entries.size);
      lived.close();
      rebuilt.close();
    }),
    { numRuns: 300 },
  );
});

test("rewriting the same entries does not make the index grow", () => {
  const index = indexOf([]);
  const write = (round: number) => {
    for (let id = 0; id < 200; id++)
      index.add(id, { key: `k/${id}`, value: `round ${round} token-${round}-${id} of the test` });
  };
  for (let round = 0; round < 20; round++) write(round);
  const settled = index.memoryBytes;
  for (let round = 20; round < 100; round++) write(round);
  expect(index.memoryBytes).toBeLessThan(2 * settled);
  expect(index.size).toBe(200);
  expect(ids(index, "token-99-7")).toContain(7);
  expect(ids(index, "token-98-7", { limit: 1 })).not.toEqual([]);
});
