/** A data directory and backups on a file system without hard links and modes: nothing is lost or made twice. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { governdProcess } from "../cli/governd-process.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";
import { CAN_FAIL } from "./failing-disk.ts";

setDefaultTimeout(PROCESS_TEST_MS);

/** Numbers of Linux (errno.h), by the file systems that answer so. */
const REFUSALS = { "EPERM (exFAT, SMB)": 1, "ENOSYS (some of FUSE)": 38, "EOPNOTSUPP (9p)": 95 };

describe.skipIf(!CAN_FAIL)("on a file system without hard links", () => {
  let temporary: ReturnType<typeof temporaryDirectory>;
  let library: string;
  beforeAll(() => {
    temporary = temporaryDirectory();
    library = temporary.join("plain-file-system.so");
    const source = join(import.meta.dir, "plain-file-system.c");
    const built = Bun.spawnSync(["cc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"]);
    if (built.exitCode !== 0) throw new Error(`the library could not be built: ${built.stderr}`);
  });
  afterAll(() => temporary[Symbol.dispose]());

  for (const [name, number] of Object.entries(REFUSALS)) {
    test(name, async () => {
      const at = (...names: string[]) => temporary.join(`${number}`, ...names);
      const run = async (...words: string[]) => {
        const { code, out, err } = await governdProcess(words, {
          env: { LD_PRELOAD: library, PLAIN_ERRNO: `${number}` },
        });
        expect([words[0], code, err.replaceAll(/^.*(%|\bMiB\b).*\n/gm, "")]).toEqual([words[0], 0, ""]);
        return out;
      };
      const data = ["--data-dir", at("data")];
      // All of them make the same keys and databases at once.
      const names = ["one", "two", "three", "four"];
      await Promise.all(names.map((workspace) => run("workspace", "create", "--name", workspace, "--json", ...data)));
      const listed = await run("workspace", "list", "--json", ...data);
      for (const workspace of names) expect(listed).toContain(`"${workspace}"`);
      await run("rotate-seal-key", ...data);
      await run("backup", at("backups"), ...data);
      await run("backup", at("backups"), ...data);
      const [first, second] = readdirSync(at("backups"))
        .filter((entry) => !entry.startsWith("."))
        .sort();
      await run("restore", "--keep-rights", at("backups", second as string), "--data-dir", at("restored"));
      for (const directory of [at("data"), at("backups", first as string), at("restored")]) {
        expect(await run("verify", directory)).toContain("Verified");
      }
      const files = [at("data"), at("backups"), at("restored")].flatMap((directory) =>
        readdirSync(directory, { recursive: true }).map(String),
      );
      expect(files.filter((file) => file.endsWith(".tmp"))).toEqual([]);
      expect(readFileSync(at("restored", "keys", "seal.key"), "utf8")).toBe(
        readFileSync(at("data", "keys", "seal.key"), "utf8"),
      );
    });
  }
});
