/** The dashboard's parts that need no browser. */
import { describe, expect, test } from "bun:test";
import { EVENT_NAMES, eventFacts } from "../../src/operations.ts";
import { jsonLines } from "../../src/web/api/lines.ts";
import { MessageReader } from "../../src/web/api/live.ts";
import type { AuditEvent, FindingsOverTime, JsonObject, LineageItem } from "../../src/web/api/types.ts";
import { draftOf, toConfig } from "../../src/web/pages/agent/config-draft.ts";
import { hasColons, nameBelow, steps } from "../../src/web/pages/agent/data-tree.ts";
import { AGENT_GROUPS, INSTALLATION_GROUPS, WORKSPACE_GROUPS } from "../../src/web/pages/agent/operation-groups.ts";
import { diffOf } from "../../src/web/pages/agent/state-diff.ts";
import { layoutOf, MOST_DRAWN } from "../../src/web/pages/lineage/layout.ts";
import { draftOfPolicies, singlePolicies, toPolicies } from "../../src/web/pages/policies/draft.ts";
import { seriesOf } from "../../src/web/pages/policies/found.ts";
import { partInForce } from "../../src/web/pages/policies/in-force.ts";
import { partsOf } from "../../src/web/pages/policies/parts-of.ts";
import { exportFile, sealSize } from "../../src/web/pages/workspace/saved-files.ts";
import { comparedPart, MOST_CHARACTERS, MOST_LINES } from "../../src/web/ui/diff/compared-part.ts";
import { diffRows } from "../../src/web/ui/diff/rows.ts";
import { verb } from "../../src/web/ui/event-words.ts";
import { readableJson } from "../../src/web/ui/json-text.ts";
import { size } from "../../src/web/ui/numbers.ts";
import { roundTop } from "../../src/web/ui/series.ts";
import { excerpt, matched, stemsOf, wordsIn } from "../../src/web/ui/text/matched.ts";
import { hiddenIn, visible } from "../../src/web/ui/text/visible.ts";

test("the filters of the trails name every operation but those that only watch", () => {
  const groups = [...AGENT_GROUPS, ...WORKSPACE_GROUPS, ...INSTALLATION_GROUPS];
  const named = new Set(groups.flatMap(([, , operations]) => operations ?? []));
  const missing = EVENT_NAMES.filter((name) => !named.has(name));
  expect(missing.filter((name) => eventFacts(name)?.group !== "watching")).toEqual([]);
});

test("an event is told as what its actor did, or tried to do", () => {
  const told = (operation: string, result: string) => verb({ operation, result } as AuditEvent);
  expect(told("data.write", "allowed")).toBe("wrote");
  expect(told("data.write", "blocked")).toBe("tried to write");
  expect(told("checkpoint.read", "denied")).toBe("tried to look into a checkpoint");
  expect(told("member.remove", "ok")).toBe("removed a member");
  expect(told("account.sign_in", "denied")).toBe("tried to sign in");
  expect(told("later.operation", "ok")).toBe("later.operation");
});

describe("the tree of keys", () => {
  test("shows what is below a prefix, and a key that is the prefix itself", () => {
    expect(["a/1", "a/b/2", "a/"].map((key) => nameBelow("a/", key))).toEqual(["1", "b/2", "a/"]);
  });

  test("is divided at colons where a key has one inside", () => {
    expect([["a:1"], ["a:"], ["a"], ["x:a:1"]].map((keys) => hasColons(keys, ""))).toEqual([true, false, false, true]);
    expect(hasColons(["a:1"], "a:")).toBe(false);
  });

  test("leads back up", () => {
    expect(steps("a/b:c").map(({ prefix }) => prefix)).toEqual(["a/", "a/b:", "a/b:c"]);
    expect(steps("")).toEqual([]);
  });
});

test("policies that are objects have controls of their own", () => {
  expect(singlePolicies().filter(([, { form }]) => form.type === "object")).toEqual([]);
});

describe("the form of a configuration", () => {
  const configs: JsonObject[] = [
    {
      model: "m",
      instructions: "i",
      policies: { block_pii: true, block_secrets: false, retention_days: 30 },
      tools: ["a", { b: null }],
    },
    { policies: { block_pii: false, block_secrets: false } },
    {
      policies: {
        block_pii: false,
        block_secrets: false,
        limits: { value_bytes: 65_536, entries: 1000 },
        screening: {
          pii: { mode: "redact", detectors: { iban: "block", email: "off" } },
          secrets: { detectors: { jwt: "audit" } },
          patterns: [
            { name: "code", regex: "a,b\\n", ignore_case: false, mode: "block", prefixes: ["a,b/", "c\nd"] },
            { name: "other", regex: "x", ignore_case: true, mode: "off" },
          ],
          exceptions: [
            { detector: "code", equals: " x ", reason: "r", expires_at: "2027-03-01T00:00:59.123Z" },
            { detector: "email", ends_with: "@example.org", prefixes: ["p/"], reason: "ours" },
          ],
        },
      },
    },
  ];
  for (const config of configs) {
    test(`gives back what it was given: ${Object.keys(config)}`, () => {
      expect(toConfig(draftOf(config))).toEqual(config);
    });
  }

  test("says what is wrong with the rest, and takes no member twice", () => {
    const draft = draftOf({});
    expect(() => toConfig({ ...draft, rest: "{" })).toThrow("not JSON");
    expect(() => toConfig({ ...draft, rest: "[1]" })).toThrow("must be a JSON object");
    expect(() => toConfig({ ...draft, rest: '{"policies": {}}' })).toThrow('"policies" has a field');
  });

  test("leaves it to the daemon to refuse a number of days that is none", () => {
    const draft = draftOf({});
    const settings = { ...draft.policies.settings, retention_days: "1.5" };
    expect(toConfig({ ...draft, policies: { ...draft.policies, settings } }).policies).toMatchObject({
      retention_days: "1.5",
    });
  });
});

test("an edited rule is sent as typed, and those beside it as they were", () => {
  const kept = { name: "kept", regex: "x", ignore_case: false, mode: "audit" } as const;
  const draft = draftOfPolicies({ screening: { patterns: [kept, { name: "b", regex: "y", mode: "audit" }] } });
  const patterns = draft.patterns.map((row, at) =>
    at === 0 ? row : { ...row, typed: { ...row.typed, mode: "block" as const, prefixes: "notes/\n\ncustomers/" } },
  );
  expect(toPolicies({ ...draft, patterns }).screening).toEqual({
    patterns: [kept, { name: "b", regex: "y", mode: "block", prefixes: ["notes/", "customers/"] }],
  });
});

test("parts of policies are put into others, which keep the rest", () => {
  const screening = {
    pii: { mode: "audit" },
    patterns: [{ name: "a", regex: "1", mode: "block" }],
    exceptions: [{ detector: "a", equals: "x", reason: "new" }],
  };
  const parts = partsOf({
    block_pii: true,
    block_secrets: false,
    retention_days: 7,
    screening,
    limits: { entries: 5 },
  });
  expect(parts.map(({ label, isOn }) => `${isOn ? "on" : "off"} ${label}`)).toEqual([
    "on Block personal data: on",
    "off Block secrets: off",
    "on Keep data for (days): 7",
    "on Most entries: 5",
    "on Modes of personal data: audit",
    "on Pattern a: block",
    "on Exception x (a)",
  ]);
  const into: JsonObject = {
    block_secrets: true,
    limits: { value_bytes: 9, entries: 9 },
    screening: {
      pii: { mode: "block", detectors: { email: "off" } },
      secrets: { mode: "redact" },
      patterns: [
        { name: "a", regex: "0", mode: "audit" },
        { name: "b", regex: "2", mode: "audit" },
      ],
      exceptions: [{ detector: "a", equals: "x", reason: "old" }],
    },
  };
  const put = parts.filter(({ isOn }) => isOn).reduce((policies, part) => part.put(policies), into);
  expect(put).toEqual({
    block_pii: true,
    block_secrets: true,
    retention_days: 7,
    limits: { value_bytes: 9, entries: 5 },
    screening: {
      ...screening,
      secrets: { mode: "redact" },
      patterns: [screening.patterns[0], { name: "b", regex: "2", mode: "audit" }],
    },
  } as JsonObject);
});

test("parts in force are told by their paths", () => {
  const policies = {
    block_secrets: true,
    retention_days: 30,
    screening: {
      pii: { mode: "audit", detectors: { us_ssn: "block" } },
      patterns: [{ name: "code", regex: "x+", mode: "redact", prefixes: ["a/", "b/"] }],
      exceptions: [{ detector: "email", ends_with: "@example.org", reason: "ours" }],
    },
    limits: { entries: 7 },
    later: { most: 5 },
  } as unknown as JsonObject;
  const told = (path: string) => {
    const { name, note, setting } = partInForce(policies, path);
    return [name, note, Object.values(setting)[0]];
  };
  expect(told("block_secrets")).toEqual(["Block secrets", null, "on"]);
  expect(told("retention_days")).toEqual(["Keep data for (days)", null, "30"]);
  expect(told("screening.pii.mode")).toEqual(["Any personal data", null, "audit"]);
  expect(told("screening.pii.detectors.us_ssn")).toEqual(["US social security number", null, "block"]);
  expect(told("screening.patterns[0]")).toEqual(["Pattern code", "x+, in keys that begin with a/ or b/", "redact"]);
  expect(told("screening.exceptions[0]")).toEqual(["Exception …@example.org (Email address)", "ours", "left alone"]);
  expect(told("limits.entries")).toEqual(["Most entries", null, "7"]);
  expect(told("later.most")).toEqual(["later.most", null, "5"]);
});

test("what was found is shown by detector, the most frequent first, on a round axis", () => {
  const at = (blocked: Record<string, number>) => ({ start_time: "", blocked, redacted: null, reported: null });
  const findings = { data: [at({ email: 1, code: 1 }), at({}), at({ code: 3 })] } as unknown as FindingsOverTime;
  expect(seriesOf(findings, "blocked")).toEqual([
    { name: "code", values: [1, 0, 3] },
    { name: "Email address", values: [1, 0, 0] },
  ]);
  expect([0, 1, 3, 5, 9, 11, 47, 61, 1000, 1001].map(roundTop)).toEqual([2, 2, 4, 6, 10, 20, 60, 80, 1000, 2000]);
});

test("lines of JSON are handed out whole, wherever the network cuts them", async () => {
  const text = new TextEncoder().encode('{"a":"ä"}\n{"b":2}\n{"c":3}');
  for (const length of [1, 5, text.length]) {
    const parts = Array.from({ length: Math.ceil(text.length / length) }, (_, at) =>
      text.slice(at * length, (at + 1) * length),
    );
    expect(await Array.fromAsync(jsonLines(new Blob(parts).stream()))).toEqual([{ a: "ä" }, { b: 2 }, { c: 3 }]);
  }
});

test("what differs from a checkpoint is told as what a restore does, or as what came after it", () => {
  const held = (value: string) => ({ key: "", value, metadata: {}, created_at: "", updated_at: "" });
  const data = [
    { key: "b", change: "changed", from: held("1"), to: held("2") },
    { key: "c", change: "removed", from: held("1"), to: null },
    { key: "d", change: "added", from: null, to: held("1") },
  ] as const;
  const first = { added: 1, changed: 1, removed: 5, unchanged: 3 };
  const told = (isForward: boolean) => {
    const diff = diffOf({ data, first }, isForward);
    return [diff?.counts, diff?.changes.map(({ key, kind, now, wanted }) => `${key} ${kind}: ${now} to ${wanted}`)];
  };
  expect(told(false)).toEqual([
    { "is removed": 1, "changes back": 1, "comes back": 5 },
    ["b changes back: 2 to 1", "c comes back: null to 1", "d is removed: 1 to null"],
  ]);
  expect(told(true)).toEqual([
    { "comes back": 1, "changes back": 1, "is removed": 5 },
    ["b changes back: 1 to 2", "c is removed: 1 to null", "d comes back: null to 1"],
  ]);
});

test("a stream is cut into messages, wherever the network cuts it", () => {
  const text =
    ": hello\nretry: 2000\n\nid: aud_1\r\nevent: audit\ndata: {\ndata: }\n\nid: aud_2\ndata:x\n\n: still here\n\n";
  for (const length of [1, 2, 3, 7, text.length]) {
    const reader = new MessageReader();
    const messages = [];
    for (let at = 0; at < text.length; at += length) messages.push(...reader.push(text.slice(at, at + length)));
    expect(messages).toEqual([
      { id: "aud_1", data: "{\n}" },
      { id: "aud_2", data: "x" },
    ]);
  }
});

test("lines stand beside what replaces them", () => {
  expect(diffRows("a\nb\nc\n", "a\nB\nc\nd\n").map(({ before, after }) => [before, after])).toEqual([
    ["a", "a"],
    ["b", "B"],
    ["c", "c"],
    [null, "d"],
  ]);
});

test("lines show the words in which they differ", () => {
  const [row] = diffRows("Never promise a refund.\n", "Never promise a discount.\n");
  expect(row?.words).toEqual({
    before: [
      { text: "Never promise a ", changed: false },
      { text: "refund", changed: true },
      { text: ".", changed: false },
    ],
    after: [
      { text: "Never promise a ", changed: false },
      { text: "discount", changed: true },
      { text: ".", changed: false },
    ],
  });
  expect(diffRows("one thing\n", "another text altogether\n")[0]?.words).toBe(null);
});

test("of long texts, the piece is compared in which they begin to differ", () => {
  expect(comparedPart("a\nb", "a\nc")).toEqual({ before: "a\nb", after: "a\nc", fromLine: null });
  const lines = Array.from({ length: 200_000 }, (_, at) => `${at}`);
  const text = lines.join("\n");
  const other = lines.with(150_000, "other").join("\n");
  const part = comparedPart(text, other);
  expect(part.fromLine).toBe(150_001);
  expect([part.before.split("\n")[0], part.after.split("\n")[0]]).toEqual(["150000", "other"]);
  expect([part.before.split("\n").length, comparedPart(text, text).fromLine]).toEqual([MOST_LINES, 1]);
  // In a single line, it begins a little before the difference; what one text adds at its end counts, too.
  const line = "word ".repeat(200_000);
  expect(comparedPart(line, `${line}end`).after).toBe(`${"word ".repeat(200)}end`);
  expect(comparedPart("", line).after.length).toBe(MOST_CHARACTERS);
});

test("the words of lines with little in common are not compared to the end", () => {
  const words = (letter: string) => Array.from({ length: 4_000 }, (_, at) => `${letter}${at % 10}`).join(" ");
  expect(diffRows(`${words("a")}\n`, `${words("b")}\n`)[0]?.words).toBe(null);
});

test("a text of several lines is compared line by line", () => {
  const config = (rule: string) => readableJson({ tools: [], instructions: `Be polite.\n${rule}\nBe brief.` });
  expect(config('Say "hi".').split("\n")).toEqual([
    "{",
    '  "instructions": """',
    "    Be polite.",
    '    Say "hi".',
    "    Be brief.",
    '  """,',
    '  "tools": []',
    "}",
  ]);
  const changed = diffRows(config("Never shout."), config("Never whisper.")).filter(({ same }) => !same);
  expect(changed.map(({ before, after }) => [before, after])).toEqual([["    Never shout.", "    Never whisper."]]);
});

test("what cannot be seen is escaped, and what writing needs is not", () => {
  const hidden = [
    "\u202e",
    "\u2066",
    "\u200b",
    "\u00ad",
    "\ufeff",
    "\u0000",
    "\u{e0041}",
    "\u3164",
    "\ud800",
    "a\u200db",
  ];
  expect(hidden.filter((text) => !visible(`x${text}`).includes("⟨U+"))).toEqual([]);
  expect(visible("gnp.\u202eexe")).toBe("gnp.⟨U+202E⟩exe");
  expect(hiddenIn("\u202ea\u202e\u200b")).toEqual(["⟨U+202E⟩", "⟨U+200B⟩"]);
  const written = ["naïve – “quoted” … 你好 مرحبا שלום", "👩‍👩‍👧 ❤️ 👍🏽", "می‌خواهم", "क्‍ष", "line\n\tnext"];
  expect(written.map(visible)).toEqual(written);
});

test("the daemon's own name of an export is the one that the page states", () => {
  const at = new Date("2026-01-31T23:59:59Z");
  expect(exportFile("ws_1", null, "json", at)).toBe("audit-ws_1-2026-01-31.json");
  expect(exportFile("ws_1", "a/b", "ocsf", at)).toBe("audit-a_b-2026-01-31.ndjson");
});

test("sizes and seals are read as they are meant", () => {
  expect([size(1), size(2048), size(1.5 * 1024 * 1024)]).toEqual(["1 byte", "2.0 KiB", "1.5 MiB"]);
  expect(sealSize("host/ws_1\n120\nroot=\n\n— host/ws_1 sig\n")).toBe(120);
});

test("the words of a search are found by their stems, whatever their case and accents", () => {
  const stems = stemsOf("the Reports of Zürich 7");
  expect(matched("A report, due in ZURICH on day 7 of it.", stems).filter(({ isMatch }) => isMatch)).toEqual([
    { text: "report", isMatch: true },
    { text: "ZURICH", isMatch: true },
    { text: "7", isMatch: true },
  ]);
  const text = `${"x".repeat(100)} report ${"y".repeat(100)}`;
  expect(excerpt(text, stems, 60)).toBe(`…${"x".repeat(39)} report ${"y".repeat(13)}…`);
  expect(wordsIn(["Reports and a report", "zurich"], stems)).toEqual(["reports", "zurich"]);
});

describe("the drawing of a lineage", () => {
  const item = (audit_id: string, from: string, depth: number) => ({ audit_id, from, depth }) as LineageItem;
  const items = [item("a", "start", 1), item("b", "start", 1), item("of b", "b", 2), item("of a", "a", 2)];
  const placesIn = (direction: "causes" | "effects") =>
    new Map(
      layoutOf("start", items, direction).boxes.map(({ item: one, x, y }) => [one?.audit_id ?? "start", { x, y }]),
    );

  test("has the earlier to the left, and each write beside the one from which it was reached", () => {
    for (const [direction, sign] of [
      ["effects", 1],
      ["causes", -1],
    ] as const) {
      const places = placesIn(direction);
      const at = (name: string) => places.get(name) as { x: number; y: number };
      expect(sign * (at("a").x - at("start").x)).toBeGreaterThan(0);
      expect(sign * (at("of a").x - at("a").x)).toBeGreaterThan(0);
      expect(at("a").x).toBe(at("b").x);
      expect(at("of a").y - at("of b").y).toBe(at("a").y - at("b").y);
      const { width, height, steps } = layoutOf("start", items, direction);
      for (const { x, y } of places.values()) expect([x >= 0 && x < width, y >= 0 && y < height]).toEqual([true, true]);
      expect(steps.length).toBe(4);
    }
  });

  test("has the nearest writes of many, and only steps between those", () => {
    const many = Array.from({ length: 2 * MOST_DRAWN }, (_, at) => item(`${at}`, at === 0 ? "start" : `${at - 1}`, 1));
    const { boxes, steps } = layoutOf("start", many, "effects");
    expect([boxes.length, steps.length]).toEqual([MOST_DRAWN + 1, MOST_DRAWN]);
    expect(layoutOf("start", [item("x", "not shown", 2)], "causes").steps).toEqual([]);
  });
});
