import { expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { ended } from "../ended.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";
import { FROM_SOURCE, startGovernd } from "./governd-process.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const ROOT = join(import.meta.dir, "../..");
/** Runs the commands of the README as it prints them; the package script runs the source. */
const SCRIPT = "npm run --silent governd --";
const EXAMPLE = /^```sh example\n([\s\S]*?)^```$/gm;

test("the README's worked example runs as printed", async () => {
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
  const answers = out.split("\n").filter((line) => line.startsWith("{"));
  const [config, written, blocked, read, found, checkpoint, trail] = answers.map((line) => JSON.parse(line));
  expect(config).toMatchObject({ agent_id: "assistant", version: "v1" });
  expect(written).toMatchObject({ allowed: true });
  expect(blocked).toMatchObject({ allowed: false, blocked_by: "policy:block_pii" });
  expect(read).toMatchObject({ key: "notes/1" });
  expect(found.data[0]).toMatchObject({ key: "notes/1" });
  expect(checkpoint).toMatchObject({ label: "first", entry_count: 1 });
  expect(trail.data[0]).toMatchObject({ operation: "checkpoint.create" });
});
