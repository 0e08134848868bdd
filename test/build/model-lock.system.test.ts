/** The search model is built by one process, however many ask for it. */
import { expect, test } from "bun:test";
import { cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TemporaryDirectory, temporaryDirectory } from "../temporary.ts";

const ROOT = join(import.meta.dir, "../..");
/** A process id that no process has: ids end at 2^22. */
const NOBODY = 4_194_305;

/** A checkout in which one small asset is not built yet. */
function checkout(): TemporaryDirectory {
  const directory = temporaryDirectory();
  const root = directory.path;
  for (const path of ["scripts", "src/search"]) cpSync(join(ROOT, path), join(root, path), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(root, "node_modules"));
  mkdirSync(join(root, "src/search/assets"), { recursive: true });
  rmSync(join(root, "src/search/assets/kernel.wasm"), { force: true });
  return directory;
}

async function build(root: string): Promise<string> {
  const child = Bun.spawn([process.execPath, "scripts/build-model.ts"], { cwd: root, stdout: "pipe", stderr: "pipe" });
  const [out, errors] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  expect({ code: await child.exited, errors }).toEqual({ code: 0, errors: "" });
  return out;
}

test("of several processes one builds, and the others wait for it", async () => {
  using root = checkout();
  const outputs = await Promise.all(Array.from({ length: 4 }, () => build(root.path)));
  expect(outputs.filter((out) => out.includes("kernel.wasm")).length).toBe(1);
});

test("a lock whose holder died is taken over", async () => {
  using root = checkout();
  writeFileSync(root.join("src/search/assets/build.lock"), `${NOBODY}`);
  expect(await build(root.path)).toContain("kernel.wasm");
});
