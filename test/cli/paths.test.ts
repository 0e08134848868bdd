/** Every command that takes a path, given one of the wrong kind: exit code 2 and one line, never a stack trace. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { type TemporaryDirectory, temporaryDirectory } from "../temporary.ts";
import { governd } from "./governd.ts";

let temporary: TemporaryDirectory;
const paths: Record<string, string> = {};
beforeAll(() => {
  temporary = temporaryDirectory();
  const named = (name: string) => {
    const path = temporary.join(name.replaceAll(" ", "-"));
    paths[name] = path;
    return path;
  };
  writeFileSync(named("a file"), "text\n");
  mkdirSync(named("a directory"));
  mkdirSync(`${paths["a directory"]}/inside`);
  symlinkSync(temporary.join("nowhere"), named("a dangling link"));
  symlinkSync(temporary.join("a-link-to-itself"), named("a link to itself"));
  paths["a path through a file"] = `${paths["a file"]}/inside`;
  paths["a name that is too long"] = temporary.join("n".repeat(300));
});
afterAll(() => temporary[Symbol.dispose]());

/** The commands with `PATH` where the path stands. Paths that one of them accepts are left out. */
const COMMANDS: Readonly<Record<string, readonly string[]>> = {
  "restore PATH": [],
  "restore /nowhere --data-dir PATH": [],
  "serve --config PATH": [],
  "serve --print-settings --config PATH": [],
  "backup PATH --data-dir /nowhere": [],
  "check --data-dir PATH": ["a directory", "a dangling link"],
  "verify PATH": ["a directory"],
  "workspace list --data-dir PATH": ["a directory", "a dangling link"],
  "key-info --data-dir PATH": ["a directory", "a dangling link"],
};

describe("a path of the wrong kind", () => {
  for (const [command, accepted] of Object.entries(COMMANDS)) {
    test(command, async () => {
      for (const [name, path] of Object.entries(paths)) {
        if (accepted.includes(name)) continue;
        const { code, err, out } = await governd(command.split(" ").map((word) => word.replace("PATH", path)));
        expect(code, `${name}: ${out}${err}`).toBe(2);
        expect(err, name).not.toMatch(/\n\s+at |This is a bug/);
      }
    });
  }
});
