/**
 * A directory that holds everything, its exports, receipts and seals: both programs find whatever is done to them, and
 * neither accuses what is honest. As a rule, a sample of each kind is changed, and the second program judges some
 * of it; with GOVERND_TEST_LONG=1 both judge everything.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { copyFileSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { dataDirectory } from "../../src/core/datadir/layout.ts";
import type { AuditResult } from "../../src/log/event.ts";
import { EVENT_NAMES } from "../../src/operations.ts";
import { openConnection } from "../../src/store/connection.ts";
import { governd } from "../cli/governd.ts";
import { effort } from "../effort.ts";
import { PROCESS_TEST_MS } from "../patience.ts";
import { Seeded } from "../seeded.ts";
import { temporaryDirectory } from "../temporary.ts";
import { contentOf } from "./content.ts";
import { type Change, Copies, columnsOf, eventChanges, MEANS_NOTHING, rowChanges } from "./databases.ts";
import { type Everything, filesOf, makeEverything, type Paper } from "./everything.ts";
import { attacked, attacksOn } from "./files.ts";
import { anywhere, inNumber, inSchema, inStructure, withFlipped } from "./flips.ts";
import { expectRight, type Form, Judge, type Words } from "./judge.ts";
import { digestedAnew, type Edited, exportEdited, linesEdited, proofEdited, receiptEdited } from "./papers.ts";

setDefaultTimeout(PROCESS_TEST_MS);

/** The most changes that differ only in the number of the row. */
const ROWS_ALIKE = effort({ usual: 1, long: 1_000 });
/** One in this many of the changes of events is made: each event has more changes, so each kind has some. */
const EVENT_CHANGES = effort({ usual: 9, long: 1 });
/** One in this many is made of the changes that were already made in another workspace's file. */
const MADE_ELSEWHERE = effort({ usual: 3, long: 1 });
/** The most attacks on whole files of each kind. */
const ATTACKS_ALIKE = effort({ usual: 2, long: 1_000 });
const FLIPS = effort({ usual: 8, long: 5_000 });
const SEED = 20_261_122;
const LEAST = 400;

const directory = temporaryDirectory();
let made: Everything;
let judge: Judge;
let words: Words;
beforeAll(async () => {
  made = await makeEverything(directory.path);
  mkdirSync(directory.join("work"));
  judge = new Judge(directory.join("work"));
  words = { keys: made.publicKeys.slice(0, 1) };
});
afterAll(async () => {
  await judge[Symbol.asyncDispose]();
  directory[Symbol.dispose]();
});

/** Tampers with the log of a workspace and its rows. Returns what is wrong with the verdicts. */
async function changesIn(id: string): Promise<unknown[]> {
  const { database } = filesOf(made.data, id);
  using connection = openConnection(database, { readOnly: true });
  const events = eventChanges(connection, id !== made.pruned).filter((_, index) => index % EVENT_CHANGES === 0);
  const copies = new Copies(database, directory.join("work"));
  const wrong: unknown[] = [];
  const all = [...events, ...fewOfEach(rowChanges(connection), kindOfChange, ROWS_ALIKE)];
  const elsewhere = new Set(judge.seen.map(kindOfChange));
  const chosen = all.filter((one, index) => !elsewhere.has(kindOfChange(one)) || index % MADE_ELSEWHERE === 0);
  for (const [index, change] of chosen.entries()) {
    // Every second change is in the write-ahead log alone.
    const log = index % 2 === 1;
    const form = id === made.installation ? "installation" : log ? "database with log" : "database";
    wrong.push(await copies.with(change, log, (path) => judge.wrong({ ...change, form }, path, words)));
  }
  return wrong;
}

const kindOfChange = ({ kind, to }: Pick<Change, "kind" | "to">): string => `${kind} ${to.replace(/ row .*/, "")}`;

/** Returns the first `most` of each kind, in their order. */
function fewOfEach<T>(all: readonly T[], kindOf: (one: T) => string, most: number): T[] {
  const met = new Map<string, number>();
  return all.filter((one) => {
    const count = (met.get(kindOf(one)) ?? 0) + 1;
    met.set(kindOf(one), count);
    return count <= most;
  });
}

const named = (list: readonly Paper[], name: string): string =>
  readFileSync(list.find((paper) => paper.name === name)?.path ?? "", "utf8");

/** Flips single bits of a text, which no program may accept. Returns what is wrong with the verdicts. */
async function flipped(form: Form, to: string, original: Buffer, place = anywhere): Promise<unknown[]> {
  const seeded = new Seeded(SEED);
  const wrong: unknown[] = [];
  for (let count = 0; count < FLIPS; count++) {
    const [at, bit] = place(seeded, original);
    const what = `${to}, byte ${at} bit ${bit}`;
    const found = await judge.flipped(form, what, judge.paper(withFlipped(original, [at, bit])), words);
    wrong.push(found.wrong ?? (found.passes ? [form, what, "passes"] : null));
  }
  return wrong;
}

const PLACES = new Map([
  [anywhere, "anywhere"],
  [inStructure, "in the order of its pages"],
  [inSchema, "in its schema"],
  [inNumber, "in the numbers of its events"],
]);

describe("a workspace's file", () => {
  test("of the workspace with every operation", async () => expectRight(await changesIn(made.main)));
  test("of the installation", async () => expectRight(await changesIn(made.installation)));
  test("that was pruned", async () => expectRight(await changesIn(made.pruned)));

  for (const [which, place, flips] of [
    ["database", anywhere, FLIPS],
    ["database", inStructure, FLIPS],
    ["database beside a log", anywhere, FLIPS],
    ["database beside a log", inSchema, FLIPS],
    ["log", anywhere, FLIPS],
  ] as const) {
    test(`with a bit of its ${which} flipped, ${PLACES.get(place)}`, async () => {
      const withLog = which !== "database";
      const { database } = filesOf(withLog ? made.live.data : made.data, made.main);
      const parts = withLog ? ["", "-wal"] : [""];
      const seeded = new Seeded(SEED);
      const good = contentOf(copied("good"));
      expect(good).not.toBeNull();
      const wrong: unknown[] = [];
      for (let count = 0; count < flips; count++) {
        const path = copied("flipped");
        const target = which === "log" ? `${path}-wal` : path;
        const bytes = readFileSync(target);
        const [at, bit] = place(seeded, bytes);
        writeFileSync(target, withFlipped(bytes, [at, bit]));
        // Without a kept seal, a log whose end is unreadable looks like an older one.
        const given = which === "log" ? { ...words, seals: [made.live.kept] } : words;
        const form = withLog ? "database with log" : "database";
        const found = await judge.flipped(form, `${which} ${at}.${bit}`, path, given);
        wrong.push(found.wrong);
        if (found.passes && contentOf(path) !== good) wrong.push([which, at, bit, "passes"]);
      }
      expectRight(wrong);

      function copied(name: string): string {
        const path = directory.join("work", `${name}.db`);
        for (const end of ["", "-wal", "-shm"]) rmSync(`${path}${end}`, { force: true });
        for (const end of parts) copyFileSync(`${database}${end}`, `${path}${end}`);
        return path;
      }
    });
  }
});

/** Exports that are edited, each with another of its kind, whose members the edits may take. */
const EXPORTS = [
  ["ndjson of a workspace after a restore", "ndjson of a workspace after a pruning"],
  ["json of a window after a rotation", "json of a window after a pruning"],
  ["json of an agent after a restore", "json of an agent after a rotation"],
  ["the pruned workspace after a pruning", "the pruned workspace after a restore"],
] as const;
const RECEIPTS = [
  ["data.write after a rotation", "checkpoint.create after a rotation"],
  ["data.write as tlog-proof after a rotation", "checkpoint.create as tlog-proof after a rotation"],
  ["data.read as tlog-proof after a restore", "data.read as tlog-proof after a rotation"],
  ["data.read before a rotation", "data.read after a rotation"],
] as const;

/** Edits that make an export unreadable, so that nothing in it is established. */
const UNREADABLE: readonly RegExp[] = [
  /^(?!removed).*: header 0 type$/,
  /^(?!duplicated: format).*: (header 0 )?format$/,
  /^removed: (line \d+, (header|trailer)|(header 0 )?keys|agent_id)$/,
  /^duplicated: header 0 .*[a-z_]$/,
  /^blanked: events$/,
  // An erasure that no seal covers yet looks like this.
  /^blanked: (.* )?erasures\.(seal|events\.\d+\.path)$/,
];
/**
 * Edits without effect. The key in force under the origin of another epoch is the same key. Another export of the same
 * events proves the same erasures, under a later seal. The same erasure twice says no more than once.
 */
const HARMLESS =
  /^(swapped with another's: ((header 0 )?public_key|erasures)|duplicated: (.* )?erasures\.events\.\d+)$/;

const exitOfExport = (kind: string, to: string): 0 | 1 | 2 => {
  const what = `${kind}: ${to}`;
  if (HARMLESS.test(what)) return 0;
  return UNREADABLE.some((form) => form.test(what)) ? 2 : 1;
};

/** The lines of a record in a file of seals, with the empty line at its end; and which of them is the signature. */
const LINES_OF_SEAL = 6;
const SIGNATURE_LINE = 4;
const OTHER_SIGNATURE = /^(changed|duplicated|swapped with another's)$/;
const SEAL_EDITS = effort({ usual: 61, long: 1 });
/** The same for a file with few seals. */
const FEW_SEAL_EDITS = effort({ usual: 53, long: 1 });

/** One in this many of the edits of a text is judged. It is a prime number, so that each kind has its turn. */
const EDITS = effort({ usual: 97, long: 1 });

/** Judges one in `every` edits of a text, except those that leave it unchanged. */
async function judgeEdits(
  { original, all, every = EDITS }: { original: string; all: Iterable<Edited>; every?: number },
  look: (kind: string, to: string, text: string) => Promise<unknown>,
): Promise<void> {
  const wrong: unknown[] = [];
  let index = 0;
  for (const { kind, to, text } of all) {
    if (index++ % every !== 0) continue;
    const edited = text();
    if (edited !== original) wrong.push(await look(kind, to, edited));
  }
  expectRight(wrong);
}

describe("an export", () => {
  test.each(EXPORTS)("%s", async (name, donor) => {
    const original = named(made.exports, name);
    await judgeEdits({ original, all: exportEdited(original, named(made.exports, donor)) }, (kind, to, text) => {
      const tampering = { form: "export", kind, to: `${name} ${to}`, exit: exitOfExport(kind, to) } as const;
      return judge.wrong(tampering, judge.paper(text), words);
    });
  });
  test("of the log of the installation", async () => {
    // With the same key.
    const [donor, last] = [made.installationExports[1], made.installationExports.at(-1)].map((paper) =>
      readFileSync(paper?.path ?? "", "utf8"),
    ) as [string, string];
    await judgeEdits({ original: last, all: exportEdited(last, donor) }, (kind, to, text) => {
      const tampering = { form: "installation", kind, to: `export ${to}`, exit: exitOfExport(kind, to) } as const;
      return judge.wrong(tampering, judge.paper(text), words);
    });
  });
  for (const place of [anywhere, inNumber]) {
    test(`with a bit flipped, ${PLACES.get(place)}`, async () => {
      for (const [name] of EXPORTS.slice(0, 2)) {
        expectRight(await flipped("export", name, Buffer.from(named(made.exports, name)), place));
      }
    });
  }
});

describe("a receipt", () => {
  test.each(RECEIPTS)("%s", async (name, donor) => {
    const text = named(made.receipts, name);
    const signature = text.trimEnd().split("\n").length - 1;
    const all = receiptEdited(text, named(made.receipts, donor));
    await judgeEdits({ original: text, all }, (kind, to, edited) => {
      // The same signature twice counts once.
      const exit = kind === "duplicated" && to === `line ${signature}` ? 0 : "refused";
      const tampering = { form: "receipt", kind, to: `${name} ${to}`, exit } as const;
      return judge.wrong(tampering, judge.paper(edited), words);
    });
  });
  test("with a bit flipped", async () => {
    for (const [name] of RECEIPTS.slice(0, 3)) {
      expectRight(await flipped("receipt", name, Buffer.from(named(made.receipts, name))));
    }
  });
});

/** Proofs that are edited, each with another one, whose members the edits may take. */
const PROOFS = [
  ["held with its value after a restore", "held with its value after a pruning"],
  ["an absent key after a rotation", "an absent prefix after a rotation"],
  ["an absent prefix before a rotation", "complete before a rotation"],
  ["complete after a restore", "complete after a rotation"],
  ["complete under a prefix with values after a pruning", "complete after a pruning"],
] as const;
/** Edits of a claim of an absence into another true one, and of a digest, which is made anew. */
const STILL_TRUE = /^(an absent .* (key|prefix|claim)|.* digest)$/;
/** The programs judge one in so many edits of a proof: in a usual run, more than a hundred. */
const PROOF_EDITS = effort({ usual: 11, long: 1 });

describe("a proof", () => {
  test.each(PROOFS)("%s", async (name, donor) => {
    const original = named(made.proofs, name);
    const all = proofEdited(original, named(made.proofs, donor));
    await judgeEdits({ original, all, every: PROOF_EDITS }, (kind, to, text) => {
      const tampering = { form: "proof", kind, to: `${name} ${to}`, exit: "refused" } as const;
      return judge.wrong(tampering, judge.paper(text), words, true);
    });
  });
  test("in more than a hundred ways", () => {
    expect(judge.seen.filter(({ form }) => form === "proof").length).toBeGreaterThan(100);
  });
  test.each(PROOFS)("%s, by somebody who makes its digest anew", async (name, donor) => {
    const original = named(made.proofs, name);
    const all = proofEdited(original, named(made.proofs, donor));
    await judgeEdits({ original, all, every: PROOF_EDITS }, async (kind, to, text) => {
      const remade = digestedAnew(text);
      if (remade === null || STILL_TRUE.test(`${name} ${to}`)) return null;
      const tampering = {
        form: "proof",
        kind: `${kind}, digested anew`,
        to: `${name} ${to}`,
        exit: "refused",
      } as const;
      return judge.wrong(tampering, judge.paper(remade), words, true);
    });
  });
  test("with a bit flipped", async () => {
    for (const [name] of PROOFS) expectRight(await flipped("proof", name, Buffer.from(named(made.proofs, name))));
  });
});

test("a receipt whose details were left out proves no erasure", async () => {
  const without = named(made.receipts, RECEIPTS[0][0]).replace(/^extra (.*)$/m, (_, extra) => {
    const said = { ...JSON.parse(Buffer.from(extra, "base64").toString()), details: null, details_salt: null };
    return `extra ${Buffer.from(JSON.stringify(said)).toString("base64")}`;
  });
  const path = judge.paper(without);
  const { out } = await governd(["verify", path, "--public-key", words.keys[0] ?? ""]);
  const [ours, theirs] = await judge.exits(path, words);
  expect([ours.code, theirs?.code ?? 0]).toEqual([0, 0]);
  const said = theirs === null ? [out] : [out, theirs.out];
  for (const text of said) expect(text.toLowerCase()).toContain("not covered: the details of the event");
  expect(out).not.toContain("erased");
});

describe("seals", () => {
  test.each(["main", "installation"] as const)("in the file of seals of a directory: %s", async (which) => {
    const copy = dataDirectory(directory.join(`resealed-${which}`));
    cpSync(made.data.root, copy.root, { recursive: true });
    const { seals, database } = filesOf(copy, made[which]);
    // A log beside the database, even an empty one of a closed connection, says that somebody may still be writing.
    for (const end of ["-wal", "-shm"]) rmSync(`${database}${end}`, { force: true });
    const form = which === "main" ? "seals" : "installation";
    const original = readFileSync(seals, "utf8");
    const all = linesEdited(original, readFileSync(filesOf(copy, made.pruned).seals, "utf8"));
    const every = which === "main" ? SEAL_EDITS : FEW_SEAL_EDITS;
    await judgeEdits({ original, all, every }, async (kind, to, text) => {
      const line = Number(to.split(" ")[1]);
      // A crash may have left a part of the last record.
      if (line > original.split("\n").length - LINES_OF_SEAL - 2) return null;
      writeFileSync(seals, text);
      // The database stores the same seal, with its own signature.
      const exit = line % LINES_OF_SEAL === SIGNATURE_LINE && OTHER_SIGNATURE.test(kind) ? 0 : 1;
      return judge.wrong({ form, kind, to: `the file, ${to}`, exit }, copy.root, words);
    });
  });

  test("that an auditor kept", async () => {
    const [first = "", last = ""] = [made.kept[0], made.kept.at(-1)];
    const { database } = filesOf(made.data, made.main);
    const original = readFileSync(last, "utf8");
    const all = linesEdited(original, readFileSync(first, "utf8"));
    await judgeEdits({ original, all, every: 1 }, (kind, to, text) => {
      // A kept seal is the auditor's own. A signature by a key that was not given says nothing about it.
      const same = to === `line ${SIGNATURE_LINE}` && OTHER_SIGNATURE.test(kind);
      const given = { ...words, seals: [judge.paper(text)] };
      const tampering = { form: "seals", kind, to: `kept, ${to}`, exit: same ? 0 : "refused" } as const;
      return judge.wrong(tampering, database, given);
    });
  });
});

test("whole files", async () => {
  const wrong: unknown[] = [];
  const all = new Seeded(SEED).shuffled(attacksOn(made));
  for (const attack of fewOfEach(all, ({ form, kind }) => `${form} ${kind}`, ATTACKS_ALIKE)) {
    const look = (path: string, seals: Pick<Words, "seals">) => judge.wrong(attack, path, { ...words, ...seals });
    wrong.push(await attacked(attack, made, directory.join("work"), look));
  }
  expectRight(wrong);
});

/** Every result that an event can have. */
const RESULTS: Record<AuditResult, true> = {
  ...{ ok: true, allowed: true, blocked: true },
  ...{ not_found: true, conflict: true, denied: true },
};

/** Returns the tables of a workspace's file, except those of search, which hold no record. */
function tablesOfSchema(): string[] {
  const root = join(import.meta.dir, "../../sql/workspace");
  const files = [...new Bun.Glob("**/*.sql").scanSync(root)].map((name) => readFileSync(join(root, name), "utf8"));
  const made = files.flatMap((sql) => [...sql.matchAll(/^CREATE (?:VIRTUAL )?TABLE (?:IF NOT EXISTS )?(\w+)/gm)]);
  return made.map(([, name]) => name as string).filter((name) => !name.startsWith("search_"));
}

describe("the corpus", () => {
  test(`has at least ${LEAST} tamperings, of every kind and in every form`, () => {
    console.table(judge.table());
    const structured = judge.seen.filter(({ kind }) => kind !== "flipped");
    expect(structured.length).toBeGreaterThanOrEqual(LEAST);
    expect(judge.seen.length - structured.length).toBeGreaterThanOrEqual(FLIPS * 6);
  });

  test("has one of every operation that is recorded", () => {
    const changed = new Set(judge.seen.map(({ to }) => to.split(" ")[0]));
    // No log of this program announces a newer vocabulary: vocabularies.system.test.ts has some that do.
    expect(EVENT_NAMES.filter((name) => !changed.has(name))).toEqual(["log.vocabulary"]);
  });

  test("has one of every result", () => {
    const changed = new Set(judge.seen.map(({ to }) => to.split(" ")[1]));
    expect(Object.keys(RESULTS).filter((result) => !changed.has(result))).toEqual([]);
  });

  test("has a value in every column that a workspace's file can have", () => {
    const empty = new Set<string>();
    const filled = new Set<string>();
    for (const id of [made.main, made.pruned, made.installation]) {
      using connection = openConnection(filesOf(made.data, id).database, { readOnly: true });
      const all = columnsOf(connection, { alsoNoRecord: true });
      for (const name of tablesOfSchema()) if (!all.has(name)) empty.add(name);
      for (const [table, names] of all) {
        for (const name of names) {
          const is = connection.value<number>(`SELECT count(${name}) > 0 FROM ${table}`) === 1;
          (is ? filled : empty).add(`${table}.${name}`);
          if (is) filled.add(table);
        }
      }
    }
    expect([...empty].filter((name) => !filled.has(name))).toEqual([]);
  });

  test("has one of every table and column of a workspace's file", () => {
    const changed = new Set(judge.seen.map(({ to }) => to.replace(/ row .*/, "")));
    using connection = openConnection(filesOf(made.data, made.main).database, { readOnly: true });
    const columns = [...columnsOf(connection)].filter(([table]) => table !== "events");
    const all = columns.flatMap(([table, names]) => [table, ...names.map((name) => `${table}.${name}`)]);
    expect(all.filter((name) => !changed.has(name) && !MEANS_NOTHING.has(name))).toEqual([]);
  });
});
