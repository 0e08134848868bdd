/** What a file of tests is called says whether its tests are quick: `npm run test:unit` chooses by name. */
import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

const SYSTEM = /\.system\.test\.tsx?$/;
/** What starts a process, a browser, a daemon or its threads. */
const STARTS =
  /\bBun\.spawn(Sync)?\(|"node:child_process"|"playwright-core"|\bstartDaemon\(|\bnew (WorkspacePool|PartThreads)\(/;
const IMPORT = /(?:\bfrom\s*|^import\s*|\bimport\()"(\.[^"]+)"/gm;

/** Of each file below test: its code, without comments. */
const CODE = new Map(
  readdirSync(import.meta.dir, { recursive: true, encoding: "utf8" })
    .filter((path) => /\.tsx?$/.test(path) && path !== "kinds.test.ts")
    .map((path) => [
      path,
      readFileSync(join(import.meta.dir, path), "utf8").replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, ""),
    ]),
);

/** The first file that starts something among those that a file of tests imports, and itself; null when none does. */
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

test("no other file is called so", () => {
  expect(TESTS.filter((path) => SYSTEM.test(path) && whatStarts(path) === null)).toEqual([]);
});
