/** The README's first ten minutes, in a fresh clone: every command in order, without waiting for anything. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { cpSync, existsSync } from "node:fs";
import { join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import { ended } from "../ended.ts";
import { eventually } from "../eventually.ts";
import { PROCESS_TEST_MS, type TemporaryDirectory, temporaryDirectory } from "../temporary.ts";

setDefaultTimeout(3 * PROCESS_TEST_MS);

const ROOT = join(import.meta.dir, "../..");
const EXAMPLE = /^```sh example\n([\s\S]*?)^```$/gm;
/** What the README says that they print, except the events of the trail. */
const OUTPUT = /^```(?:json|text) output\n([\s\S]*?)^```$/gm;

/** Replaces what differs in each run: ids, times, similarities, what is sealed, and whether a key's use is on disk. */
const lasting = (text: string): string =>
  text
    .replace(/\b(ws|key|aud|cp)_[0-9a-z]{26}\b/g, "$1_…")
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "…Z")
    .replace(/"similarity":[\d.]+/g, '"similarity":…')
    .replace(/^ {2}not covered: key_use: .*\n/gm, "")
    .replace(/^ {2}sealed: .*$/gm, "  sealed: …");

/** Copies what a commit of the present state would have, and nothing that was installed or built. */
function clone(): TemporaryDirectory {
  const directory = temporaryDirectory();
  const { stdout } = Bun.spawnSync(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
    cwd: ROOT,
  });
  for (const path of stdout
    .toString()
    .split("\0")
    .filter((name) => name !== "" && existsSync(join(ROOT, name)))) {
    cpSync(join(ROOT, path), directory.join(path));
  }
  return directory;
}

/** Runs `npm start` until the end of the scope; `address` is where it says that it listens. */
async function start(root: string): Promise<{ address: string } & AsyncDisposable> {
  // Another daemon may have the usual port.
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, GOVERND_LISTEN: "127.0.0.1:0" };
  const child = Bun.spawn(["npm", "start"], {
    cwd: root,
    env,
    // A group of its own, which gets the signal as all of a terminal does.
    detached: true,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  let said = "";
  const follow = async (stream: ReadableStream<Uint8Array>) => {
    for await (const piece of stream) said += new TextDecoder().decode(piece);
  };
  const over = Promise.all([follow(child.stdout), follow(child.stderr)]);
  const address = () => /https:\/\/(127\.0\.0\.1:\d+)/.exec(said)?.[1];
  await eventually("the daemon is ready", () => {
    if (child.exitCode !== null) throw new Error(`npm start has ended: ${said}`);
    return address() !== undefined;
  });
  return {
    address: address() as string,
    async [Symbol.asyncDispose]() {
      process.kill(-child.pid, "SIGINT");
      await over;
    },
  };
}

/** What the README asks for, and git, which made the clone. */
const HAS_TOOLS = ["git", "node", "npm", "curl"].every((name) => Bun.which(name) !== null);

test.skipIf(!HAS_TOOLS)("the README's worked example runs as printed, and prints what the README says", async () => {
  const readme = await Bun.file(join(ROOT, "README.md")).text();
  const lines = [...readme.matchAll(EXAMPLE)].map(([, block]) => block).join("");
  expect(lines.split("\n").length).toBeGreaterThan(8);
  using root = clone();
  await using daemon = await start(root.path);
  const child = Bun.spawn(["bash", "-euo", "pipefail", "-c", lines.replaceAll("localhost:8443", daemon.address)], {
    cwd: root.path,
    env: { PATH: process.env.PATH, HOME: process.env.HOME },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const { out, err, code } = await ended(child);
  expect({ code, err, out }).toMatchObject({ code: 0, err: "" });
  const trail = out.split("\n").findIndex((line) => line.startsWith('{"data":[{"id"'));
  const printed = out.split("\n").toSpliced(trail, 1).filter(Boolean).join("\n");
  const stated = [...readme.matchAll(OUTPUT)].map(([, block]) => block).join("");
  expect(lasting(printed)).toBe(lasting(stated.trim()));
  // Nothing was downloaded that only a developer needs.
  const developers = Object.keys(manifest.devDependencies).filter((name) =>
    existsSync(root.join("node_modules", name)),
  );
  expect(developers).toEqual([]);
});
