/**
 * What screening would find in the texts of a source if nothing had been learned from that source:
 * `bun bench/screening/sources.ts --data DIR [--parts dev,dev2]`, or SCREENING_DATA=DIR.
 *
 * DIR holds labelled texts, which are not part of this repository: `pii_PART.jsonl` and `secrets_PART.jsonl` (or
 * `.gz`), one `{"text", "source", "expect_block"}` a line. The part of a source before the first `/` or `#` is its
 * project.
 *
 * The rules are written by hand, so no training can be repeated without a source. Instead, a second project must
 * confirm every rule. A rule is a row of a list (a word, a prefix, a name of a service) with its detector, or a form of
 * an identifier. When a project is left out, a text of it counts as found only if a rule found it that also finds
 * something in a text of another project: the other rules may have been written for this project alone. That is too
 * strict for a row that comes from a provider's manual and that one project happens to have. It is too lenient for what
 * is code and not a row: the checks around a word were changed for texts of any project.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { gunzipSync } from "node:zlib";
import type { Hit } from "../../src/screen/check.ts";
import { DETECTORS, type DetectorName } from "../../src/screen/detectors.ts";
import { SEPARATED_FORMS, TOKEN_FORMS } from "../../src/screen/pii/formats.ts";
import { type Dictionary, dictionaryFor } from "../../src/screen/scan.ts";
import { screen } from "../../src/screen/screen.ts";

interface Text {
  text: string;
  project: string;
}

/** A text with what found it. */
interface Found {
  project: string;
  rules: ReadonlySet<string>;
}

type Policy = "block_pii" | "block_secrets";

const { values: options } = parseArgs({ options: { data: { type: "string" }, parts: { type: "string" } } });
const directory = options.data ?? process.env.SCREENING_DATA;
if (directory === undefined) throw new Error("say where the labelled texts are: --data DIR");
const parts = (options.parts ?? "dev,dev2").split(",");

function linesOf(name: string): string[] {
  const path = join(directory as string, name);
  const text = existsSync(path) ? readFileSync(path, "utf8") : gunzipSync(readFileSync(`${path}.gz`)).toString();
  return text.split("\n").filter((line) => line !== "");
}

const textsOf = (kind: "pii" | "secrets"): Text[] =>
  parts
    .flatMap((part) => linesOf(`${kind}_${part}.jsonl`).map((line) => JSON.parse(line)))
    .filter((row) => row.expect_block !== false)
    .map(({ text, source }) => ({ text, project: source.split(/[/#]/)[0] }));

/** What each rule, apart from the forms, has found since this was emptied. */
const fired = new Map<string, Hit[]>();

/** Returns the dictionary of a policy, whose anchors note what they find. */
function watched(policy: Policy): Dictionary {
  const names = (Object.keys(DETECTORS) as DetectorName[]).filter((name) => DETECTORS[name].policy === policy);
  const dictionary = dictionaryFor(new Set(names), new Set());
  const anchors = dictionary.anchors.map((anchor) => ({
    ...anchor,
    check: (text: string, start: number, end: number) => {
      const hit = anchor.check(text, start, end);
      if (hit !== null) fired.getOrInsertComputed(`${hit.detector} ${anchor.word}`, () => []).push(hit);
      return hit;
    },
  }));
  return { ...dictionary, anchors };
}

/** Returns the rule of a finding without a word: its detector, and its form if the table has one that matches. */
function formOf(text: string, { detector, start, end }: Hit): string {
  const written = text.slice(start, end);
  const row = [...SEPARATED_FORMS, ...TOKEN_FORMS].find(
    (form) => form.detector === detector && new RegExp(`^(?:${form.pattern.source})$`, "i").test(written),
  );
  return `${detector} form ${row === undefined ? "" : row.pattern.source}`;
}

function rulesFor(text: string, dictionary: Dictionary): Set<string> {
  fired.clear();
  const hits = screen(text, "", dictionary);
  const rules = new Set(fired.keys());
  const announced = new Set([...fired.values()].flat().map(({ detector }) => detector));
  for (const hit of hits) if (!announced.has(hit.detector)) rules.add(formOf(text, hit));
  return hits.length === 0 ? new Set() : rules;
}

const percent = (part: number, whole: number) => `${((100 * part) / whole).toFixed(1)} %`;

function report(kind: "pii" | "secrets", policy: Policy): string {
  const dictionary = watched(policy);
  const found = textsOf(kind).map(({ text, project }): Found => ({ project, rules: rulesFor(text, dictionary) }));
  const vouchers = new Map<string, Set<string>>();
  for (const { project, rules } of found)
    for (const rule of rules) vouchers.getOrInsertComputed(rule, () => new Set()).add(project);
  const isVouchedFor = (rule: string) => (vouchers.get(rule)?.size ?? 0) > 1;
  const byProject = Map.groupBy(found, ({ project }) => project);
  const rows = Array.from(byProject, ([project, texts]) => {
    const now = texts.filter(({ rules }) => rules.size > 0).length;
    const without = texts.filter(({ rules }) => [...rules].some(isVouchedFor)).length;
    return { project, texts: texts.length, now, without };
  }).toSorted((a, b) => b.texts - a.texts);
  const sum = (of: "texts" | "now" | "without") => rows.reduce((total, row) => total + row[of], 0);
  const all = { project: "all", texts: sum("texts"), now: sum("now"), without: sum("without") };
  return [
    "| project | texts | found | found without what only this project vouches for |",
    "| --- | --- | --- | --- |",
    ...[...rows, all].map(
      ({ project, texts, now, without }) =>
        `| ${project} | ${texts} | ${percent(now, texts)} | ${percent(without, texts)} |`,
    ),
  ].join("\n");
}

console.log(`Personal data:\n\n${report("pii", "block_pii")}\n\nSecrets:\n\n${report("secrets", "block_secrets")}`);
