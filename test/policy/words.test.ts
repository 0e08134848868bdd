/** The word lists are well formed: what the parser takes for granted is so. */
import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DETECTORS } from "../../src/screen/detectors.ts";
import { SEPARATED_FORMS, TOKEN_FORMS } from "../../src/screen/pii/formats.ts";
import { labelledForms } from "../../src/screen/pii/labelled.ts";
import { tokenRows } from "../../src/screen/secrets/token-format.ts";
import {
  columnsOf,
  linesOf,
  listsOf,
  readings,
  sectionsOf,
  spelledOut,
  stickyOf,
  wordsOf,
} from "../../src/screen/words/lists.ts";

const FOLDER = join(import.meta.dir, "../../src/screen/words");
const read = (name: string) => readFileSync(join(FOLDER, name), "utf8");
const twice = (words: readonly string[]) => words.filter((word, at) => words.indexOf(word) !== at);

/** Files whose rows have columns. */
const TABLES = ["commands.txt", "forms.txt", "patterns.txt", "places.txt", "tokens.txt"];
const LISTS = readdirSync(FOLDER).filter((name) => name.endsWith(".txt") && !TABLES.includes(name));

describe.each(LISTS)("%s", (name) => {
  const sections = sectionsOf(read(name));

  test("has words, in small letters, composed, without spaces around them", () => {
    const words = sections.flatMap(({ lines }) => lines);
    expect(words.filter((word) => word !== word.trim().replace(/\s+/g, " "))).toEqual([]);
    expect(words.filter((word) => word !== word.toLowerCase().normalize("NFC"))).toEqual([]);
    expect(sections.filter(({ lines }) => lines.length === 0)).toEqual([]);
  });

  test("has each word of a section and each heading once", () => {
    expect(twice(sections.map(({ heading }) => heading))).toEqual([]);
    expect(sections.flatMap(({ heading, lines }) => twice(lines).map((word) => `${heading}: ${word}`))).toEqual([]);
  });
});

test("the words of a section 'of' another one are in it", () => {
  const lists = new Map(sectionsOf(read("secrets.txt")).map(({ heading, lines }) => [heading, lines]));
  const all = ["passwords", "keys"].flatMap((whole) => lists.get(whole) ?? []);
  expect((lists.get("whole parts") ?? []).filter((word) => !all.includes(word))).toEqual([]);
});

test("a word of an address is in one list of its kind", () => {
  const lists = new Map(sectionsOf(read("addresses.txt")).map(({ heading, lines }) => [heading, lines]));
  const kinds = [
    ["streets", "weak streets"],
    ["street prefixes", "clear street prefixes"],
    ["units", "strong units"],
    ["labels", "unclear labels"],
  ];
  for (const kind of kinds) expect(twice(kind.flatMap((heading) => lists.get(heading) ?? []))).toEqual([]);
});

test("labels are of known detectors, and their lengths can be", () => {
  const forms = labelledForms();
  expect(forms.filter(({ detector }) => !(detector in DETECTORS))).toEqual([]);
  expect(forms.filter(({ min, max, digits }) => min > max || digits > max)).toEqual([]);
  expect(forms.filter(({ ambiguous, form }) => ambiguous && form === undefined)).toEqual([]);
});

test("every table's rows have the columns of their section, without duplicates", () => {
  const columns = {
    ...{ separated: 5, tokens: 4, infixes: 5, webhooks: 2, places: 3 },
    ...{ behind: 2, "behind, any word": 2, "in front": 2, calls: 1, "places in calls": 2 },
  };
  const sections = ["forms.txt", "patterns.txt", "places.txt", "commands.txt"].flatMap((name) =>
    sectionsOf(read(name)),
  );
  expect(sections.map(({ heading }) => heading)).toEqual(Object.keys(columns));
  for (const { heading, lines } of sections) {
    const wrong = lines.filter((row) => columnsOf(row).length !== columns[heading as keyof typeof columns]);
    expect([...wrong, ...twice(lines)]).toEqual([]);
  }
});

test("forms are of known detectors, and the leads of separated forms are well formed", () => {
  const forms = [...SEPARATED_FORMS, ...TOKEN_FORMS];
  expect(forms.filter(({ detector }) => !(detector in DETECTORS))).toEqual([]);
  expect(SEPARATED_FORMS.flatMap(({ leads }) => leads).filter((lead) => !/^\d+[-+ ./:]?$/.test(lead))).toEqual([]);
});

test("a row that is no pattern is refused", () => {
  expect(stickyOf("/a b/i")).toEqual(/a b/iy);
  expect(() => stickyOf("a")).toThrow("not a pattern: a");
  expect(() => stickyOf(undefined)).toThrow("not a pattern");
});

test("characters are read as plain ones, by their codes where they cannot be seen", () => {
  expect(readings("look-alikes").get("\u0430")).toBe("a");
  expect(readings("signs").get("\u2010")).toBe("-");
  const entities = readings("entities");
  expect(["amp", "nbsp", "newline", "shy", "num"].map((name) => entities.get(name))).toEqual(["&", " ", "\n", "", "#"]);
  for (const section of ["look-alikes", "signs"] as const) {
    expect([...readings(section).keys()].filter((character) => character.length !== 1)).toEqual([]);
  }
});

test("token formats have three columns, a telling prefix, and no duplicates", () => {
  const rows = linesOf(read("tokens.txt"));
  expect(rows.filter((row) => row.trimEnd().split(/ {2,}/).length !== 3)).toEqual([]);
  expect(tokenRows().filter(([, prefix]) => prefix.length < 2)).toEqual([]);
  expect(twice(tokenRows().map(([, prefix, body]) => `${prefix} ${body}`))).toEqual([]);
});

test("alternatives of a word are spelled out", () => {
  expect(spelledOut("hasł(o|a)")).toEqual(["hasło", "hasła"]);
  expect(spelledOut("a(b|) c(d|e)")).toEqual(["ab cd", "ab ce", "a cd", "a ce"]);
  expect(wordsOf("[one]\nx(y|)\nx", ["one"]).one).toEqual(["xy", "x"]);
});

test("a list with other headings is refused, and one without", () => {
  expect(() => listsOf("[a]\nx\n[b]\ny", ["a"])).toThrow("other headings");
  expect(() => sectionsOf("x\n[a]")).toThrow("without a heading");
});
