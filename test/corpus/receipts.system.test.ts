/**
 * Receipts with one line, member or character changed: each line of each form of receipt, and each member of what it
 * shows, including the keys. All three programs give each the same exit code, which is 0 only if it still says the
 * same.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readFileSync } from "node:fs";
import { effort } from "../effort.ts";
import { Seeded } from "../seeded.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";
import { HAS_PYTHON } from "../verify/second-verifier.ts";
import { type Everything, makeEverything } from "./everything.ts";
import { expectRight, Judge } from "./judge.ts";

setDefaultTimeout(3 * PROCESS_TEST_MS);

const SEED = 20_261_125;
/** The number of edits of each receipt. */
const EDITS = effort({ usual: 12, long: 10_000 });

const directory = temporaryDirectory();
let made: Everything;
let judge: Judge;
beforeAll(async () => {
  mkdirSync(directory.join("all"));
  made = await makeEverything(directory.join("all"));
  judge = new Judge(directory.path);
});
afterAll(async () => {
  await judge[Symbol.asyncDispose]();
  directory[Symbol.dispose]();
});

type Edit = readonly [to: string, content: string | Buffer];

/** Edits that leave a line in its place. */
const OF_LINE: Readonly<Record<string, (line: string) => string>> = {
  "with a space at its end": (line) => `${line} `,
  "with a space before it": (line) => ` ${line}`,
  "with a tab in it": (line) => line.replace(" ", "\t"),
  "in capitals": (line) => line.toUpperCase(),
  "with another end": (line) => `${line}\r`,
  "with a zero byte": (line) => `${line}\0`,
  // The same signature twice counts once.
  twice: (line) => (line.startsWith("— ") ? line : `${line}\n${line}`),
  "after an empty line": (line) => `\n${line}`,
  "without padding": (line) => line.replace(/=+$/, ""),
  "with more padding": (line) => `${line}=`,
  "in the alphabet for addresses": (line) => line.replaceAll("+", "-").replaceAll("/", "_"),
  // The unused last bits of base64 are zero in its canonical form.
  "with other last bits": (line) =>
    line.replace(/([^=])(=+)$/, (_, last, padding) => String.fromCharCode(last.charCodeAt(0) + 1) + padding),
};
const INDEXES = ["-1", "+1", "1.0", "0x1", "1e0", "", "9007199254740993", "99999999999999999999", "１"];
const VALUES = [null, 1, true, "", "x", [], {}] as const;

function linesEdited(text: string): Edit[] {
  const lines = text.split("\n");
  const edits: Edit[] = INDEXES.map((index) => [`index ${index}`, text.replace(/^index .*/m, `index ${index}`)]);
  for (const [at, line] of lines.entries()) {
    const name = `line ${at}`;
    for (const [to, edit] of Object.entries(OF_LINE))
      edits.push([`${name} ${to}`, lines.with(at, edit(line)).join("\n")]);
    edits.push(
      [`${name} removed`, lines.toSpliced(at, 1).join("\n")],
      [`cut off before ${name}`, lines.slice(0, at).join("\n")],
    );
    const [before, after] = [lines.slice(0, at + 1).join("\n"), lines.slice(at + 1).join("\n")];
    edits.push([
      `${name} with what is no text`,
      Buffer.concat([Buffer.from(before), Buffer.of(0xff, 10), Buffer.from(after)]),
    ]);
  }
  return edits;
}

/** Returns edits of what the line `extra` holds. */
function extraEdited(text: string): Edit[] {
  const lines = text.split("\n");
  const extra = Buffer.from((lines[1] ?? "").slice("extra ".length), "base64");
  const json = extra.toString("utf8");
  const said = JSON.parse(json);
  const with_ = (content: string | Buffer) =>
    lines.with(1, `extra ${Buffer.from(content as string).toString("base64")}`).join("\n");
  const whole: Record<string, string | Buffer> = {
    ...{
      "a list": "[]",
      null: "null",
      "a number": "5",
      "a text": '"x"',
      "cut off": "{",
      nothing: "",
      "there twice": json + json,
    },
    ...{ "with another member": JSON.stringify({ ...said, z: 1 }), "with a mark of byte order": `\ufeff${json}` },
    ...{
      "with what is no text": Buffer.concat([extra, Buffer.of(0xff)]),
      "nested deep": `${"[".repeat(3_000)}${"]".repeat(3_000)}`,
    },
    ...{
      "with half a character": json.replace('"', '"\\ud800'),
      "with a name of objects": `{"__proto__":1,${json.slice(1)}`,
    },
    ...{ "with blanks": ` ${json} `, indented: JSON.stringify(said, null, 1) },
    ...{ "in another order": JSON.stringify(Object.fromEntries(Object.entries(said).reverse())) },
  };
  const edits: Edit[] = Object.entries(whole).map(([to, content]) => [`extra ${to}`, with_(content)]);
  for (const name of Object.keys(said)) {
    const { [name]: _, ...others } = said;
    edits.push(
      [`${name} removed`, with_(JSON.stringify(others))],
      [`${name} twice`, with_(`{"${name}":1,${json.slice(1)}`)],
    );
    for (const value of VALUES)
      edits.push([`${name} as ${JSON.stringify(value)}`, with_(JSON.stringify({ ...said, [name]: value }))]);
  }
  return [...edits, ...keysEdited(said).map(([to, keys]): Edit => [to, with_(JSON.stringify({ ...said, keys }))])];
}

function keysEdited({ keys = [] }: { keys?: Record<string, unknown>[] }): [to: string, keys: unknown][] {
  const edits: [string, unknown][] = keys.length > 1 ? [["keys in another order", keys.toReversed()]] : [];
  for (const [at, key] of keys.entries()) {
    edits.push([`key ${at} removed`, keys.toSpliced(at, 1)], [`key ${at} twice`, keys.toSpliced(at, 0, key)]);
    for (const name of Object.keys(key)) {
      for (const value of VALUES)
        edits.push([`key ${at}: ${name} as ${JSON.stringify(value)}`, keys.with(at, { ...key, [name]: value })]);
    }
  }
  return edits;
}

test.skipIf(!HAS_PYTHON)(
  "of an edited receipt, all programs say the same, and it holds only if it says the same",
  async () => {
    const seeded = new Seeded(SEED);
    const words = { keys: made.publicKeys.slice(0, 1) };
    const wrong: unknown[] = [];
    for (const { name, path } of made.receipts.filter((_, index) => index % 5 === 0)) {
      const text = readFileSync(path, "utf8");
      const all = [...linesEdited(text), ...extraEdited(text)].filter(([, content]) => content !== text);
      for (const [to, content] of seeded.shuffled(all).slice(0, EDITS)) {
        const paper = judge.paper(content);
        const [ours, theirs] = await judge.exits(paper, words, true);
        const codes = [ours.code, theirs?.code, (await judge.third(paper, words))?.code ?? ours.code];
        const holds = SAYS_THE_SAME.test(to);
        const fits = new Set(codes).size === 1 && (ours.code !== 0 || holds);
        if (!fits) wrong.push([name, to, codes, ours.out, theirs?.out]);
      }
    }
    expect(made.receipts.length).toBeGreaterThan(20);
    expectRight(wrong);
  },
);

/** Edits after which a receipt may still say the same: JSON in another form, and members that are optional. */
const SAYS_THE_SAME = /^extra (with blanks|indented|in another order)|^(keys|details|details_salt) /;
