/**
 * Screening of ordinary texts in many languages. The rules are for classes of texts, so some texts may be missed; most
 * must be found, and what is harmless must pass.
 */
import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { decide } from "../../src/screen/decide.ts";
import { policiesOf } from "../../src/screen/policies.ts";

const BOTH = policiesOf({ policies: { block_pii: true, block_secrets: true } });
const LINE = /^(pii|secret|harmless)\|([a-z]{2})\|(.+)$/;
const ESCAPES: Readonly<Record<string, string>> = { n: "\n", t: "\t", "\\": "\\" };

interface Sample {
  kind: string;
  language: string;
  text: string;
}

const FOLDER = join(import.meta.dir, "natural");
const SAMPLES: readonly Sample[] = readdirSync(FOLDER)
  .flatMap((file) => readFileSync(join(FOLDER, file), "utf8").split("\n"))
  .filter((line) => line !== "" && !line.startsWith("#"))
  .map((line) => {
    const [, kind, language, text] = LINE.exec(line) ?? [];
    if (kind === undefined || language === undefined || text === undefined) throw new Error(`no sample: ${line}`);
    return { kind, language, text: text.replace(/\\([nt\\])/g, (_, sign) => ESCAPES[sign] as string) };
  });

const found = ({ text }: Sample): string[] => {
  const decision = decide(BOTH, { key: "k", value: text, metadata: {} });
  return decision.allowed ? [] : decision.findings.map(({ policy }) => policy);
};
const missed = (kind: string, policy: string) => {
  const samples = SAMPLES.filter((sample) => sample.kind === kind);
  const not = samples.filter((sample) => !found(sample).includes(policy));
  return { share: not.length / samples.length, texts: not.map(({ text }) => text) };
};

/** The share of texts that may be missed. */
const MOST_MISSED = 0.05;

test("personal data are found", () => {
  const { share, texts } = missed("pii", "block_pii");
  expect(share, texts.join("\n")).toBeLessThanOrEqual(MOST_MISSED);
});

test("secrets are found", () => {
  const { share, texts } = missed("secret", "block_secrets");
  expect(share, texts.join("\n")).toBeLessThanOrEqual(MOST_MISSED);
});

test("harmless texts pass", () => {
  const blocked = SAMPLES.filter((sample) => sample.kind === "harmless" && found(sample).length > 0);
  expect(blocked.map(({ text }) => text)).toEqual([]);
});

test("the texts are in many languages", () => {
  expect(new Set(SAMPLES.map(({ language }) => language)).size).toBeGreaterThanOrEqual(25);
});
