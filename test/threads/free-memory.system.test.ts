/** An idle process gives back the memory of what it has read. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { temporaryDirectory } from "../temporary.ts";

const CHILD = join(import.meta.dir, "free-memory-child.ts");
/** A part of the 8 MB of pages that a connection keeps. */
const GIVEN_BACK = 4_000_000;

test.if(process.platform === "linux")("the pages that a connection keeps go back to the system", async () => {
  using directory = temporaryDirectory();
  const child = Bun.spawn([process.execPath, CHILD, directory.path], { stdout: "pipe", stderr: "inherit" });
  const [kept, left] = JSON.parse(await child.stdout.text()) as [number, number];
  expect(kept - left).toBeGreaterThan(GIVEN_BACK);
});
