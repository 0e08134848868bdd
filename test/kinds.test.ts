/**
 * The name of a test file says which command runs it: `npm run test:all` what is called `*.all.*`, `npm test` the rest,
 * and `npm run test:unit` what of that is not called `*.system.*` either. No test file has what makes a test fail now and
 * then, or keeps its failure from being repeated.
 */
import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { PROCESS_TEST_MS } from "./patience.ts";

const SYSTEM = /\.system\.test\.tsx?$/;
/** Code that starts a process, a browser, a daemon or its threads. */
const STARTS =
  /\bBun\.spawn(Sync)?\(|"node:child_process"|"playwright-core"|\bstartDaemon\(|\bnew (WorkspacePool|PartThreads)\(/;
const IMPORT = /(?:\bfrom\s*|^import\s*|\bimport\()"(\.[^"]+)"/gm;

/** The code of each file below test, without comments, by path. */
const CODE = new Map(
  readdirSync(import.meta.dir, { recursive: true, encoding: "utf8" })
    .filter((path) => /\.tsx?$/.test(path) && path !== "kinds.test.ts")
    .map((path) => [
      path,
      readFileSync(join(import.meta.dir, path), "utf8").replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, ""),
    ]),
);

/** Returns the first file that starts something: a test file or one that it imports; null when none does. */
function whatStarts(path: string, seen = new Set<string>()): string | null {
  const code = CODE.get(path);
  if (code === undefined || seen.has(path)) return null;
  seen.add(path);
  const found = STARTS.exec(code);
  if (found !== null) return `${path} (${found[0]})`;
  for (const [, name] of code.matchAll(IMPORT)) {
    const started = whatStarts(normalize(join(dirname(path), name as string)), seen);
    if (started !== null) return started;
  }
  return null;
}

const TESTS = [...CODE.keys()].filter((path) => /\.test\.tsx?$/.test(path)).sort();

test("a file whose tests start a process, a browser, a daemon or threads is called *.system.test.ts", () => {
  const misnamed = TESTS.filter((path) => !SYSTEM.test(path)).flatMap((path) => {
    const started = whatStarts(path);
    return started === null ? [] : [`${path} starts something: see ${started}`];
  });
  expect(misnamed).toEqual([]);
});

const LEFT_TO_ALL = /\.all(\.system)?\.test\.tsx?$/;
/** What a file of `npm test` may take, ms, as long as three other files run beside it on two cores. */
const MOST_MS = 40_000;
const TIMINGS = Object.entries(JSON.parse(readFileSync(join(import.meta.dir, "timings.json"), "utf8")).files).map(
  ([path, ms]) => ({ path: path.replace(/^test\//, ""), ms: ms as number }),
);

test("the list of long files, which start first on a fresh clone, names files that exist", () => {
  expect(TIMINGS.filter(({ path }) => !TESTS.includes(path))).toEqual([]);
});

/** Starts a libSQL server, which a daemon answers for by limits of its own: on a slow machine it says that it cannot. */
const ON_SERVER = /\b(?:LibsqlServer|Nodes)\.start\(|\bTestDaemon\.start\(\{ engine: "libsql-server"/;

test("npm test has tests of every folder, and leaves the longest files, and libSQL servers, to npm run test:all", () => {
  const isOnServer = (path: string) => ON_SERVER.test(CODE.get(path) as string);
  const inTest = TESTS.filter((path) => !LEFT_TO_ALL.test(path));
  const folders = new Set(inTest.map(dirname));
  const embedded = new Set(TESTS.filter((path) => !isOnServer(path)).map(dirname));
  expect([...embedded].filter((folder) => !folders.has(folder))).toEqual([]);
  expect(inTest.filter(isOnServer)).toEqual([]);
  expect(TIMINGS.filter(({ path, ms }) => inTest.includes(path) && ms > MOST_MS)).toEqual([]);
  // Both commands choose by this part of the name alone.
  expect(TESTS.filter((path) => path.includes(".all.") && !LEFT_TO_ALL.test(path))).toEqual([]);
});

test("no other file is called *.system.test.ts", () => {
  expect(TESTS.filter((path) => SYSTEM.test(path) && whatStarts(path) === null)).toEqual([]);
});

/** Calls that read a page as it is now, without waiting. */
const READS =
  /\.(allInnerTexts|allTextContents|boundingBox|content|count|evaluate|getAttribute|innerText|inputValue|isChecked|isDisabled|isEnabled|isVisible|textContent|title|url)\(/;

/** A file whose assertions must hold at every moment, not only after a while. */
const AT_EVERY_MOMENT = "web/kept.all.system.test.ts";

/** Returns each assertion of a file, and the code right before it. */
const assertions = (text: string) =>
  Array.from(text.matchAll(/([^;{}]*)\bexpect\(([^;]*?)\)\s*\.(?:not\.)?to[A-Z]/g), ([, before, asserted]) => ({
    before: before as string,
    asserted: asserted as string,
  }));

test("what a page shows is asserted with soon(), since a page shows a change a moment later", () => {
  const files = [...CODE].filter(([path]) => /^web\/.*\.system\.test\.ts$/.test(path) && path !== AT_EVERY_MOMENT);
  const early = files.flatMap(([path, text]) =>
    assertions(text)
      .filter(({ before, asserted }) => READS.test(asserted) && !/\bsoon\(async \(\) =>\s*$/.test(before))
      .map(({ asserted }) => `${path}: ${asserted}`),
  );
  expect(early).toEqual([]);
});

test("a process of governd gets no variable of the tests, since none of them is a setting", () => {
  const started = [...CODE].flatMap(([path, text]) =>
    Array.from(text.matchAll(/\bspawn(?:Sync)?\(\[\.\.\.(?:GOVERND|program)\b[^;]*;/g), ([code]) => ({ path, code })),
  );
  expect(started.length).toBeGreaterThan(8);
  expect(started.filter(({ code }) => !/\benv\b/.test(code))).toEqual([]);
});

test("random choices follow from the seed of the run", () => {
  // Programs that are run on demand: the command takes the seed, and it is printed.
  const onDemand = ["cluster/main.ts", "fuzz/main.ts", "seeded.ts", "simulation/main.ts"];
  const drawing = [...CODE].filter(([, text]) => /\bMath\.random\(|\banySeed\b|new Seeded\(Date\b/.test(text));
  expect(drawing.map(([path]) => path).filter((path) => !onDemand.includes(path))).toEqual([]);
});

/** A number where the limit of a test, of its preparation or of a request is. */
const OWN_LIMIT =
  /\b(?:setDefaultTimeout|AbortSignal\.timeout)\([\d_]+\)|^ {0,2}\}, [\d_]+\);$|\beffort\(\{ usual: [\d_]+, long: \d+00_000 \}\),?$/gm;

test("no test has a time limit of its own, which a slow machine could miss: patience.ts has those of all", () => {
  const own = TESTS.flatMap((path) =>
    Array.from((CODE.get(path) as string).matchAll(OWN_LIMIT), ([limit]) => `${path}: ${limit}`),
  );
  expect(own).toEqual([]);
  // A program for Node, which reads no TypeScript.
  const given = readFileSync(join(import.meta.dir, "../scripts/with-bun.mjs"), "utf8");
  expect(given).toContain(`const TEST_MS = ${PROCESS_TEST_MS};`);
});
