/** The worked examples of CONTRIBUTING.md compile, and without one of their parts they do not. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { cpSync, existsSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { type ExampleBlock, exampleBlocks } from "./support/examples.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "./temporary.ts";

const ROOT = join(import.meta.dir, "..");
const directory = temporaryDirectory();
afterAll(() => directory[Symbol.dispose]());

const blocks = exampleBlocks();
const rowOf = (list: string) =>
  blocks.find(({ place }) => place?.kind === "row" && place.list === list) as ExampleBlock;
const operation = rowOf("OPERATIONS");
/** The properties of the example's operation, each on a line of its own. */
const FACTS = Array.from(operation.code.matchAll(/^ {4}(\w+):.*\n/gm), ([line, name]) => [name as string, line]);
/** Lists that do not compile without their row, and what the compiler calls the row. */
const COMPLETE_LISTS = [
  ["dataOperations", `'"data.touch"'`],
  ["ANCHORS", "'loyalty_card' is missing"],
] as const;

const besides = (path: string, name: string) => join(dirname(path), `without-${name}.ts`);

/** Returns the source at `path` with the changes of some blocks, and their imports from the examples' own files. */
function applied(path: string, changes: readonly ExampleBlock[]): string {
  return changes.reduce(
    (text, { place, code }) => {
      if (place === null) return code;
      const { kind, list } = place;
      const mark =
        kind === "row"
          ? new RegExp(`(?<=const ${list}\\b.* = [{[]|\\b${list}\\(\n.*\n\\s*\\[)\n?`)
          : new RegExp(`(?=^(?:/\\*\\*.*\\*/\n)?(?:export )?const ${list}\\b)`, "m");
      if (!mark.test(text)) throw new Error(`${path} has no list ${list}`);
      return imports(path, code) + text.replace(mark, (end) => end + code);
    },
    existsSync(join(ROOT, path)) ? readFileSync(join(ROOT, path), "utf8") : "",
  );
}

function imports(path: string, code: string): string {
  return blocks
    .filter(({ place }) => place === null)
    .flatMap((file) => {
      const names = Array.from(file.code.matchAll(/^export (?:const|function) (\w+)/gm), ([, name]) => name);
      const used = names.filter((name) => new RegExp(`\\b${name}\\b`).test(code));
      return used.map((name) => `import { ${name} } from "./${relative(dirname(path), file.path)}";\n`);
    })
    .join("");
}

/** What the compiler reports, by file. */
const reports = new Map<string, string>();

beforeAll(() => {
  for (const folder of ["src", "sql", "test"]) {
    cpSync(join(ROOT, folder), directory.join(folder), { recursive: true });
  }
  for (const name of ["node_modules", "package.json"]) symlinkSync(join(ROOT, name), directory.join(name));
  const write = (path: string, text: string) => writeFileSync(directory.join(path), text);
  for (const [path, changes] of Map.groupBy(blocks, (block) => block.path)) {
    write(path, applied(path, changes));
    for (const [list] of COMPLETE_LISTS) {
      const others = changes.filter((block) => block !== rowOf(list));
      if (others.length < changes.length) write(besides(path, list), applied(path, others));
    }
  }
  for (const [name, line] of FACTS) {
    const code = operation.code.replace(line as string, "");
    write(besides(operation.path, name as string), applied(operation.path, [{ ...operation, code }]));
  }
  const tests = blocks.map(({ path }) => path).filter((path) => path.startsWith("test/"));
  const config = JSON.parse(readFileSync(join(ROOT, "tsconfig.json"), "utf8"));
  write("tsconfig.json", JSON.stringify({ ...config, include: ["src", ...tests], exclude: ["src/web"] }));
  const tsc = [process.execPath, join(ROOT, "node_modules/typescript/bin/tsc"), "--pretty", "false"];
  const { stdout } = Bun.spawnSync(tsc, { cwd: directory.path });
  for (const line of stdout.toString().split(/\n(?=\S)/)) {
    const [, path] = /^([\w./-]+)\(\d+,\d+\): error/.exec(line) ?? [];
    if (path !== undefined) reports.set(path, `${reports.get(path) ?? ""}${line}\n`);
    else expect(line).toBe("");
  }
}, PROCESS_TEST_MS);

test("the examples compile where they belong", () => {
  expect([...reports].filter(([path]) => !path.includes("without-"))).toEqual([]);
});

test("an operation, a policy and a detector have examples", () => {
  expect(FACTS.length).toBeGreaterThan(8);
  expect(blocks.map(({ place }) => place?.list)).toEqual(
    expect.arrayContaining(["OPERATIONS", "dataOperations", "dataRoutes", "POLICIES", "DETECTORS", "ANCHORS"]),
  );
});

test.each(FACTS.map(([name]) => name as string))("an operation without %s does not compile", (name) => {
  expect(reports.get(besides(operation.path, name))).toContain(`'${name}'`);
});

test.each(COMPLETE_LISTS)("%s without its row does not compile", (list, missing) => {
  expect(reports.get(besides(rowOf(list).path, list))).toContain(missing);
});
