/** The worked examples of ARCHITECTURE.md compile, and without one of their parts they do not. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { exampleBlocks } from "./support/examples.ts";
import { type TemporaryDirectory, temporaryDirectory } from "./temporary.ts";

const ROOT = join(import.meta.dir, "..");
/** What the examples need of the sources. */
const COPIED = ["src/policy", "src/json.ts", "tsconfig.json", "package.json"];

let directory: TemporaryDirectory;
beforeAll(() => {
  directory = temporaryDirectory();
  symlinkSync(join(ROOT, "node_modules"), join(directory.path, "node_modules"));
  for (const path of COPIED) cpSync(join(ROOT, path), join(directory.path, path), { recursive: true });
});
afterAll(() => directory[Symbol.dispose]());

const blocks = exampleBlocks();
const read = (path: string) => readFileSync(join(directory.path, path), "utf8");
function write(path: string, text: string): void {
  mkdirSync(dirname(join(directory.path, path)), { recursive: true });
  writeFileSync(join(directory.path, path), text);
}

/** Makes the change that a block stands for: a new file, or a row with the imports that it needs. */
function apply({ path, list, code }: (typeof blocks)[number]): void {
  if (list === null) {
    write(path, code);
    return;
  }
  const text = read(path);
  const begin = new RegExp(`^(?:export )?const ${list}\\b.* = \\{\\n`, "m").exec(text);
  if (begin === null) throw new Error(`${path} has no list ${list}`);
  const at = begin.index + begin[0].length;
  const imports = blocks
    .filter((other) => other.list === null)
    .flatMap((other) => {
      const names = Array.from(
        other.code.matchAll(/^export (?:const|function) (\w+)/gm),
        ([, name]) => name as string,
      );
      const used = names.filter((name) => new RegExp(`\\b${name}\\b`).test(code));
      const target = relative(dirname(path), other.path);
      return used.map((name) => `import { ${name} } from "./${target}";\n`);
    });
  write(path, imports.join("") + text.slice(0, at) + code + text.slice(at));
}

async function compile(): Promise<string> {
  const tsc = Bun.spawn([join(ROOT, "node_modules/.bin/tsc"), "--noEmit", "--project", "tsconfig.json"], {
    cwd: directory.path,
    stdout: "pipe",
  });
  const [text] = await Promise.all([new Response(tsc.stdout).text(), tsc.exited]);
  return text;
}

test("the worked examples compile; without a row that a list needs, the list does not", async () => {
  write("tsconfig.json", JSON.stringify({ extends: `${ROOT}/tsconfig.json`, include: ["src"] }));
  expect(await compile()).toBe("");
  const unlisted = blocks.filter(({ list }) => list === "ANCHORS");
  expect(unlisted).not.toEqual([]);
  for (const block of blocks) if (!unlisted.includes(block)) apply(block);
  expect(await compile()).toContain("'loyalty_card' is missing");
  for (const block of unlisted) apply(block);
  expect(await compile()).toBe("");
  rmSync(join(directory.path, "src"), { recursive: true });
});
