/** A large export is verified by several threads, and reported as one thread reports it. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseSeal, type Seal } from "../../src/log/seal.ts";
import { verifyInParts } from "../../src/verify/parallel.ts";
import type { SourceResult } from "../../src/verify/report.ts";
import { verifyExportFile } from "../../src/verify/sources.ts";
import { PartThreads } from "../../src/verify/threads.ts";
import { effort } from "../effort.ts";
import { exportOf, written } from "../log/exported.ts";
import { SealedLog } from "../log/sealed.ts";
import { SEED } from "../seed.ts";
import { inMemory } from "../temporary.ts";

const EVENTS = 2_400;
const PART_BYTES = 120_000;
const FORMS = ["json", "ndjson"] as const;
/** Where a sample begins: at another form in each run. */
const FIRST = SEED % FORMS.length;
let directory: string;
let log: SealedLog;
/** The seals that an auditor kept, by the name of the export that they were taken with. */
const kept = new Map<string, Seal>();

beforeAll(async () => {
  directory = mkdtempSync(join(inMemory(), "governd-parts-"));
  log = new SealedLog().grow(EVENTS, ["alpha", "beta", "gamma"]);
  for (const form of FORMS) {
    for (const [name, wanted] of [
      [form, {}],
      [`alpha.${form}`, { agent: "alpha" }],
    ] as const) {
      const exported = await exportOf(log, form, wanted);
      writeFileSync(join(directory, name), written(form, exported));
      kept.set(name, parseSeal(exported.log.seal()));
    }
  }
});
afterAll(() => rmSync(directory, { recursive: true }));

async function verify(name: string, threads: number) {
  const anchor = kept.get(name);
  const trust = { publicKeys: [log.key.publicKey], anchors: anchor === undefined ? [] : [anchor] };
  const path = join(directory, name);
  return await verifyExportFile(threads, { path, trust, partBytes: PART_BYTES });
}

const together = (name: string, ...threads: number[]) => Promise.all(threads.map((count) => verify(name, count)));

describe("with one thread, two and three", () => {
  test.each(["json", "ndjson", "alpha.json", "alpha.ndjson"])("a good export is reported alike: %s", async (name) => {
    const [one, two, three] = await together(name, 1, 2, 3);
    expect(one).toMatchObject({ verdict: "verified", report: { sealed_through: expect.any(Number) } });
    expect([two, three]).toEqual([one, one]);
  });

  const edits: [string, (lines: string[]) => void][] = [
    [
      "an event is edited",
      (lines) => lines.splice(1_600, 1, (lines[1_600] as string).replace('"cli"', '"usr"').replace("usr_", "key_")),
    ],
    ["an event is missing", (lines) => lines.splice(1_200, 1)],
    ["events are exchanged", (lines) => lines.splice(2_000, 2, lines[2_001] as string, lines[2_000] as string)],
    ["an event is no JSON", (lines) => lines.splice(1_000, 1, "{")],
    ["the end is missing", (lines) => lines.splice(2_200)],
    ["a trailer stands in the middle", (lines) => lines.splice(1_800, 0, lines.at(-2) as string)],
    ["a line is empty", (lines) => lines.splice(1_840, 0, "")],
  ];

  /** In one form or the other in `npm test`. */
  const chosen = edits.flatMap(([what, edit], index) => {
    const forms = effort({ usual: 0, long: 1 }) === 1 ? FORMS : [FORMS[(FIRST + index) % FORMS.length] ?? "json"];
    return forms.map((form) => [form, what, edit] as const);
  });

  test.each(chosen)("a %s export in which %s is reported alike", async (form, _, edit) => {
    const lines = readFileSync(join(directory, form), "utf8").split("\n");
    edit(lines);
    writeFileSync(join(directory, "edited"), lines.join("\n"));
    const [one, three] = await together("edited", 1, 3);
    expect(three).toEqual(one as SourceResult);
  });
});

test("a good export is indeed divided, and a small one is not", async () => {
  const trust = { publicKeys: [log.key.publicKey], anchors: [] };
  const path = join(directory, "ndjson");
  expect(await verifyInParts(2, path, trust, { partBytes: PART_BYTES })).toMatchObject({ valid: true });
  expect(await verifyInParts(2, path, trust, {})).toBeNull();
  expect(await verifyInParts(1, path, trust, { partBytes: PART_BYTES })).toBeNull();
});

test("a thread that dies is an error, and never a report", async () => {
  using threads = new PartThreads(2);
  const options = { form: "ndjson", scope: "workspace", marks: [] } as const;
  const part = { path: join(directory, "nowhere"), range: { from: 0, to: 9 }, options };
  const parts = threads.verify("export", [part]);
  await expect(parts.next()).rejects.toMatchObject({ code: "evidence_unreadable" });
});
