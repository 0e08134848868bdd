import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";
import { governd } from "./governd.ts";

setDefaultTimeout(PROCESS_TEST_MS);

let temporary: ReturnType<typeof temporaryDirectory>;
let file: string;

beforeEach(() => {
  temporary = temporaryDirectory();
  file = temporary.join("values.txt");
  writeFileSync(file, "hello\nmail anna.berg@posteo.de\npassword=Lark5502!x\n");
});
afterEach(() => temporary[Symbol.dispose]());

test("says which lines would be blocked and why, and never what was found", async () => {
  const { code, out } = await governd(["scan", file]);
  expect(code).toBe(1);
  expect(out).toContain("2:6-24");
  expect(out).toContain("an email address");
  expect(out).toContain("2 of 3 values would be blocked.");
  expect(out).not.toContain("anna");
  expect(out).not.toContain("Lark");
});

test("one policy alone, as JSON, with times", async () => {
  const outcome = await governd(["scan", file, "--policy", "block_pii", "--json", "--bench"]);
  expect(outcome.code).toBe(1);
  const result = outcome.json<{ values: number; blocked: number; lines: unknown[]; bench: { median_us: number } }>();
  expect(result).toMatchObject({ values: 3, blocked: 1 });
  expect(result.lines).toEqual([
    {
      line: 2,
      outcome: "block",
      findings: [{ policy: "block_pii", detector: "email", tier: 1, field: "value", start: 5, end: 24, mode: "block" }],
    },
  ]);
  expect(result.bench.median_us).toBeGreaterThan(0);
});

test("a key gives its words to the values, and a whole file is one value", async () => {
  writeFileSync(file, "Lark5502!x\nsecond line\n");
  expect((await governd(["scan", file])).code).toBe(0);
  expect((await governd(["scan", file, "--key", "wifi/password"])).code).toBe(1);
  expect((await governd(["scan", file, "--whole", "--json"])).json()).toMatchObject({ values: 1, blocked: 0 });
});

test("an unreadable file and an unknown policy exit with 2", async () => {
  expect((await governd(["scan", temporary.join("none.txt")])).code).toBe(2);
  const { code, err } = await governd(["scan", file, "--policy", "everything"]);
  expect(code).toBe(2);
  expect(err).toContain("--policy must be block_pii, block_secrets or all.");
});

test("policies from a file decide as the API does, with modes, patterns and exceptions", async () => {
  const policies = temporary.join("policies.json");
  const screening = {
    pii: { mode: "redact" },
    secrets: { mode: "audit" },
    patterns: [{ name: "greeting", regex: "^hel+o$", mode: "block" }],
    exceptions: [{ detector: "email", ends_with: "@example.com", reason: "never a person" }],
  };
  writeFileSync(file, "hello\nmail anna.berg@posteo.de\npassword=Lark5502!x\nmail us@example.com\nfine\n");
  for (const content of [{ screening }, { instructions: "Be kind.", policies: { screening } }]) {
    writeFileSync(policies, JSON.stringify(content));
    const { code, out, json } = await governd(["scan", file, "--policies", policies, "--json"]);
    expect(code).toBe(1);
    expect(json()).toMatchObject({
      values: 5,
      blocked: 1,
      redacted: 1,
      reported: 1,
      lines: [
        { line: 1, outcome: "block", findings: [{ policy: "patterns", detector: "greeting", mode: "block" }] },
        { line: 2, outcome: "redact", findings: [{ detector: "email", mode: "redact" }] },
        { line: 3, outcome: "audit", findings: [{ policy: "block_secrets", mode: "audit" }] },
      ],
    });
    for (const matched of ["anna", "Lark"]) expect(out).not.toContain(matched);
  }
});

test.each([
  ["no JSON", "{", "cannot be used: "],
  ["no object", "[]", "cannot be used: "],
  ["an unknown policy", '{"block_all": true}', "There is no policy"],
  ["a pattern that cannot be used", '{"screening":{"patterns":[{"name":"p","regex":"(?=a)","mode":"block"}]}}', "RE2"],
])("a file with %s is refused, and says why", async (_, content, words) => {
  const policies = temporary.join("policies.json");
  writeFileSync(policies, content);
  const { code, err } = await governd(["scan", file, "--policies", policies]);
  expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining(words) });
});

test("a value that is longer than a limit is reported by its line", async () => {
  const [long, policies] = [temporary.join("long.txt"), temporary.join("limits.json")];
  writeFileSync(long, "short\nrather long\n");
  writeFileSync(policies, '{"limits": {"value_bytes": 8}}');
  const { code, json } = await governd(["scan", long, "--policies", policies, "--json"]);
  expect(code).toBe(1);
  expect(json()).toMatchObject({ values: 2, blocked: 1, lines: [{ line: 2, limit: "value_bytes", findings: [] }] });
  expect((await governd(["scan", long, "--policies", policies])).out).toMatch(/^2 +block +limits +value_bytes$/m);
});

test("a name of a policy and a file of policies are not both taken", async () => {
  const { code, err } = await governd(["scan", file, "--policy", "block_pii", "--policies", "x.json"]);
  expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining("not both") });
});
