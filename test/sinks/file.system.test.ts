/** Files that sinks write: whole lines, on the disk, and never outside of the directory. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { isSinkPath } from "../../src/follow/sinks/addresses.ts";
import { SinkFailed } from "../../src/follow/sinks/config.ts";
import { appendTo } from "../../src/follow/sinks/file.ts";
import { type TemporaryDirectory, temporaryDirectory } from "../temporary.ts";

let directory: TemporaryDirectory;
let root: string;
beforeEach(() => {
  directory = temporaryDirectory();
  root = directory.join("siem");
  mkdirSync(root);
});
afterEach(() => directory[Symbol.dispose]());

const linesOf = (...texts: string[]) => Buffer.from(texts.map((text) => `${text}\n`).join(""));
const append = (text: string, path = "events.ndjson") => appendTo(root, path, linesOf(text));
const content = (path = "events.ndjson") => readFileSync(join(root, path), "utf8");

async function failureOf(work: Promise<void>): Promise<string> {
  try {
    await work;
  } catch (error) {
    if (error instanceof SinkFailed) return error.message;
    throw error;
  }
  throw new Error("it was written");
}

test("lines are appended to a file that only the daemon's user and group read", async () => {
  await appendTo(root, "events.ndjson", linesOf("1", "2"));
  await append("3");
  expect(content()).toBe("1\n2\n3\n");
  expect(statSync(join(root, "events.ndjson")).mode & 0o007).toBe(0);
});

test("a file that was renamed or truncated by a rotation begins anew", async () => {
  await append("1");
  renameSync(join(root, "events.ndjson"), join(root, "events.ndjson.1"));
  await append("2");
  expect([content("events.ndjson.1"), content()]).toEqual(["1\n", "2\n"]);
  truncateSync(join(root, "events.ndjson"));
  await append("3");
  expect(content()).toBe("3\n");
});

test("the part of a line that a crash left does not run into the next one", async () => {
  await append("1");
  appendFileSync(join(root, "events.ndjson"), '{"half');
  await append("2");
  expect(content()).toBe('1\n{"half\n2\n');
});

test("neither a link nor anything but a file is written to", async () => {
  const outside = directory.join("outside");
  mkdirSync(outside);
  writeFileSync(join(outside, "file"), "before");
  symlinkSync(join(outside, "file"), join(root, "link"));
  symlinkSync(join(outside, "new"), join(root, "dangling"));
  symlinkSync(outside, join(root, "folder"));
  symlinkSync(root, join(root, "self"));
  mkdirSync(join(root, "directory"));
  expect(Bun.spawnSync(["mkfifo", join(root, "pipe")]).exitCode).toBe(0);
  for (const path of ["link", "dangling", "folder/file", "folder/new", "self/events.ndjson", "directory", "pipe"]) {
    expect([path, await failureOf(append("1", path))]).toEqual([path, expect.any(String)]);
  }
  expect(existsSync(join(outside, "new"))).toBe(false);
  expect(readFileSync(join(outside, "file"), "utf8")).toBe("before");
});

test("the directory itself may be a link, and the operator makes those in it", async () => {
  symlinkSync(root, directory.join("link"));
  await appendTo(directory.join("link"), "events.ndjson", linesOf("1"));
  expect(content()).toBe("1\n");
  expect(await failureOf(append("1", "team/events.ndjson"))).toContain("no such file or directory");
  mkdirSync(join(root, "team"));
  await append("1", "team/events.ndjson");
  expect(content("team/events.ndjson")).toBe("1\n");
  expect(await failureOf(appendTo(null, "events.ndjson", linesOf("1")))).toContain("sink_directory");
});

test("no path leads out of the directory", () => {
  const parts = fc.constantFrom("..", ".", "/", "\\", "a", ".a", "a.b", "%2e%2e", "\u0000", " ", "ä", "");
  const paths = fc.oneof(
    fc.string(),
    fc.array(parts, { maxLength: 6 }).map((all) => all.join("/")),
  );
  fc.assert(
    fc.property(paths, (path) => {
      if (isSinkPath(path)) expect(join("/siem", path)).toBe(`/siem/${path}`);
    }),
    { numRuns: 500 },
  );
  for (const path of ["", "/a", "../a", "a/../b", "a//b", "a/", ".a", "a/.b", "a\n", "a b", "a\\b", "a".repeat(256)]) {
    expect([path, isSinkPath(path)]).toEqual([path, false]);
  }
  for (const path of ["events.ndjson", "team-a/events_1.ndjson"])
    expect([path, isSinkPath(path)]).toEqual([path, true]);
});
