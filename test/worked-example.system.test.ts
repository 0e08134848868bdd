/**
 * The worked example of ARCHITECTURE.md: its blocks, put where it says, compile; a row without one of its facts does
 * not, nor does a table without the function.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { cpSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inMemory, PROCESS_TEST_MS, temporaryDirectory } from "./temporary.ts";

const ROOT = join(import.meta.dir, "..");
const PAGE = readFileSync(join(ROOT, "ARCHITECTURE.md"), "utf8");

/** A code block of the page by its name. */
function block(name: string): string {
  const found = new RegExp(`^\`\`\`ts ${name}\n([\\s\\S]*?)^\`\`\`$`, "m").exec(PAGE);
  if (found === null) throw new Error(`ARCHITECTURE.md has no block "${name}"`);
  return found[1] as string;
}

const LIST = "src/operations.ts";
const FUNCTIONS = "src/features/data/operations.ts";
const ROUTES = "src/features/data/routes.ts";
const SCENARIOS = "test/scenarios/data.system.test.ts";
/** The facts of the example's row, each on a line of its own. */
const FACTS = Array.from(block("row").matchAll(/^ {4}(\w+):.*\n/gm), ([line, name]) => [
  name as string,
  line,
]);

const directory = temporaryDirectory(inMemory());
afterAll(() => directory[Symbol.dispose]());
/** What the compiler reports, by file. */
const reports = new Map<string, string>();

/** Puts text before the first place of a file that reads `mark`. */
function insert(text: string, mark: string, added: string): string {
  if (!text.includes(mark)) throw new Error(`there is no ${mark}`);
  return text.replace(mark, () => `${added}${mark}`);
}

function withFunction(text: string, table: string): string {
  const declared = insert(text, "/** What runs each operation of this feature. */", block("function"));
  return declared.replace(/};\n$/, () => `${table}};\n`);
}

beforeAll(() => {
  for (const folder of ["src", "sql", "test"]) {
    cpSync(join(ROOT, folder), directory.join(folder), { recursive: true });
  }
  for (const name of ["node_modules", "package.json"]) symlinkSync(join(ROOT, name), directory.join(name));
  const original = (path: string) => readFileSync(join(ROOT, path), "utf8");
  const write = (path: string, text: string) => writeFileSync(directory.join(path), text);

  const list = original(LIST);
  const withRow = (row: string) => insert(list, "} as const satisfies", row);
  write(LIST, withRow(block("row")));
  for (const [name, line] of FACTS) {
    write(`src/without-${name}.ts`, withRow(block("row").replace(line as string, "")));
  }
  write(FUNCTIONS, withFunction(original(FUNCTIONS), block("table")));
  write(FUNCTIONS.replace("operations", "without-function"), withFunction(original(FUNCTIONS), ""));
  write(
    ROUTES,
    insert(original(ROUTES), "export const dataRoutes = [", block("route")).replace(/\];\n$/, ", touch];\n"),
  );
  write(
    SCENARIOS,
    insert(original(SCENARIOS), '      {\n        name: "the first write begins', block("scenario")),
  );
  const config = {
    ...JSON.parse(original("tsconfig.json")),
    include: ["src", SCENARIOS],
    exclude: ["src/web"],
  };
  write("tsconfig.json", JSON.stringify(config));
  const { stdout } = Bun.spawnSync(
    [process.execPath, join(ROOT, "node_modules/typescript/bin/tsc"), "--pretty", "false"],
    {
      cwd: directory.path,
    },
  );
  for (const line of stdout.toString().split(/\n(?=\S)/)) {
    const [, path] = /^([\w./-]+)\(\d+,\d+\): error/.exec(line) ?? [];
    if (path !== undefined) reports.set(path, `${reports.get(path) ?? ""}${line}\n`);
    else expect(line).toBe("");
  }
}, PROCESS_TEST_MS);

test("the example compiles where it belongs", () => {
  expect([...reports].filter(([path]) => !path.includes("without-"))).toEqual([]);
});

test("the row has facts to leave out", () => {
  expect(FACTS.length).toBeGreaterThan(8);
});

test.each(FACTS.map(([name]) => name as string))("a row without %s does not compile", (name) => {
  expect(reports.get(`src/without-${name}.ts`)).toContain(`'${name}'`);
});

test("a row without a function does not compile", () => {
  expect(reports.get(FUNCTIONS.replace("operations", "without-function"))).toContain(`'"data.touch"'`);
});
