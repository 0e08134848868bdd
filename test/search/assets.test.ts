/** The assets of search in the repository are those that their sources and NOTICE say. */
import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { assembleKernel } from "../../scripts/model/kernel.ts";

const ROOT = join(import.meta.dir, "../..");
const asset = (name: string) => readFileSync(join(ROOT, "src/search/assets", name));

test("the kernel is what its text assembles to", async () => {
  expect(asset("kernel.wasm").equals(await assembleKernel())).toBe(true);
});

test("NOTICE has the digest of the word vectors", () => {
  const digest = createHash("sha256").update(asset("words.bin")).digest("hex");
  expect(readFileSync(join(ROOT, "NOTICE"), "utf8")).toContain(digest);
});

test("NOTICE names the packages that the word vectors are made of, and their versions", () => {
  const { dependencies } = JSON.parse(readFileSync(join(ROOT, "scripts/model/package.json"), "utf8"));
  const notice = readFileSync(join(ROOT, "NOTICE"), "utf8").replace(/\s+/g, " ");
  const unnamed = Object.entries(dependencies).filter(([name, version]) => !notice.includes(`${name} ${version}`));
  // These two are the program that computes the encoder's vectors, and leave nothing in the result.
  expect(unnamed.map(([name]) => name)).toEqual(["@energetic-ai/core", "@energetic-ai/embeddings"]);
});
