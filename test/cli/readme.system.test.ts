import { expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { ended } from "../ended.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";
import { FROM_SOURCE, startGovernd } from "./governd-process.ts";

setDefaultTimeout(3 * PROCESS_TEST_MS);

const ROOT = join(import.meta.dir, "../..");
/** How the README's commands begin. The package script runs the source, as the test does. */
const SCRIPT = "npm run --silent governd --";
const EXAMPLE = /^```sh example\n([\s\S]*?)^```$/gm;
/** What the README says that they print, except the events of the trail. */
const OUTPUT = /^```(?:json|text) output\n([\s\S]*?)^```$/gm;

/** Replaces what differs in each run: ids, times, similarities and what is sealed. */
const lasting = (text: string): string =>
  text
    .replace(/\b(ws|key|aud|cp)_[0-9a-z]{26}\b/g, "$1_…")
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "…Z")
    .replace(/"similarity":[\d.]+/g, '"similarity":…')
    .replace(/^ {2}sealed: .*$/m, "  sealed: …");

/** The README says that the example needs it. */
const HAS_CURL = Bun.which("curl") !== null;

test.skipIf(!HAS_CURL)("the README's worked example runs as printed, and prints what the README says", async () => {
  const readme = await Bun.file(join(ROOT, "README.md")).text();
  const lines = [...readme.matchAll(EXAMPLE)].map(([, block]) => block).join("");
  expect(lines.split("\n").length).toBeGreaterThan(8);
  using temporary = temporaryDirectory();
  await using daemon = await startGovernd(temporary.join("governd-data"));
  const script = lines.replaceAll(SCRIPT, FROM_SOURCE.join(" ")).replaceAll("localhost:8443", new URL(daemon.url).host);
  const child = Bun.spawn(["bash", "-euo", "pipefail", "-c", script], {
    cwd: temporary.path,
    env: { PATH: process.env.PATH },
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
});
