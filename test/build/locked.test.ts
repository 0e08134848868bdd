/** The lock files serve every platform, not only the one on which they were last written. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dir, "../..");

interface Needs {
  optionalDependencies?: Readonly<Record<string, string>>;
}
interface Lock {
  workspaces: Readonly<Record<string, Needs>>;
  /** By where they are installed. The third member of a row says what the package needs. */
  packages: Readonly<Record<string, readonly [id: string, origin: string, needs: Needs, digest: string]>>;
}

const LOCKS = ["bun.lock", "scripts/*/bun.lock"].flatMap((pattern) => [...new Bun.Glob(pattern).scanSync(ROOT)]).sort();

test("there are lock files", () => expect(LOCKS).toContain("bun.lock"));

test.each(LOCKS)("%s has every package that some platform needs instead of another", (path) => {
  const { workspaces, packages } = Bun.JSONC.parse(readFileSync(join(ROOT, path), "utf8")) as Lock;
  const needed = [
    ...Object.values(workspaces).map((needs) => ({ by: "", needs })),
    ...Object.entries(packages).map(([by, [, , needs]]) => ({ by: `${by}/`, needs })),
  ];
  const missing = needed.flatMap(({ by, needs }) =>
    Object.keys(needs.optionalDependencies ?? {}).filter((name) => !(`${by}${name}` in packages || name in packages)),
  );
  expect(missing).toEqual([]);
});

test("the lock file of Bun has it for every platform", () => {
  const { packages } = JSON.parse(readFileSync(join(ROOT, "scripts/bun/package-lock.json"), "utf8"));
  const names = Object.keys(packages[""].optionalDependencies);
  expect(names).not.toEqual([]);
  expect(names.filter((name) => !(`node_modules/${name}` in packages))).toEqual([]);
});
