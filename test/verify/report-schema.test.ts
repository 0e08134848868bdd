/** The report of `governd verify --json`: its schema, and the page that explains every code. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { OBSTACLES, PROBLEMS, REPORT_SCHEMA, wordsOf } from "../../src/verify/codes.ts";
import { Report } from "../../src/verify/report-schema.ts";
import { governd } from "../cli/governd.ts";

const page = readFileSync(join(import.meta.dir, "../../docs/verify-json.md"), "utf8");

/** The rows of a table of codes, as the page must have them. */
const rows = (codes: Record<string, { means: string; advice: string }>): string[] =>
  Object.entries(codes).map(([code, { means, advice }]) => `| \`${code}\` | ${means} | ${advice} |`);
const withoutPadding = (text: string): string => text.replace(/ {2,}/g, " ");

test("the page has every code with its words, and no other", () => {
  const documented = page.split("\n").filter((line) => /^\| `[a-z_]+` /.test(line));
  expect(documented.map(withoutPadding)).toEqual([...rows(PROBLEMS), ...rows(OBSTACLES)].map(withoutPadding));
});

test("the words are plain: no code has the words of another", () => {
  const means = [...Object.values(PROBLEMS), ...Object.values(OBSTACLES)].map(({ means: text }) => text);
  expect(new Set(means).size).toBe(means.length);
});

test("a code has one meaning: no obstacle has the code of a problem", () => {
  expect(Object.keys(PROBLEMS).filter((code) => code in OBSTACLES)).toEqual([]);
  expect(wordsOf("key_not_given")).toEqual(OBSTACLES.key_not_given);
});

test("the schema is printed, and names its version", async () => {
  const printed = await governd(["verify", "--json-schema"]);
  expect(printed.code).toBe(0);
  expect(JSON.parse(printed.out)).toEqual(JSON.parse(JSON.stringify(Report)));
  expect(printed.out).toContain(`"const": "${REPORT_SCHEMA}"`);
  expect(page).toContain(`\`${REPORT_SCHEMA}\``);
});

test("evidence must be named", async () => {
  expect((await governd(["verify"])).err).toContain("Name the evidence");
});
