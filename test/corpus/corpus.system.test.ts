/** Every corruption of the corpus is found, and untouched parts are reported as valid. */
import { afterAll, beforeAll, describe, expect } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "../../src/cli/program.ts";
import { newSealKey, publicPem, readSealKey } from "../../src/core/datadir/seal-key.ts";
import { governd } from "../cli/governd.ts";
import { effort } from "../effort.ts";
import { PROCESS_TEST_MS } from "../patience.ts";
import { filesReleased } from "../released.ts";
import { SEED } from "../seed.ts";
import { temporaryDirectory } from "../temporary.ts";
import { codesOf, compared, SecondVerifier } from "../verify/second-verifier.ts";
import { copyBase, makeBase, type Places } from "./base.ts";
import { CORRUPTIONS } from "./corruptions.ts";
import { throughServer } from "./through-server.ts";

const directory = temporaryDirectory();
let base: Places;
let second: SecondVerifier;
beforeAll(async () => {
  base = await makeBase(directory.join("base"), throughServer);
  second = new SecondVerifier();
}, PROCESS_TEST_MS);
afterAll(async () => {
  await second[Symbol.asyncDispose]();
  directory[Symbol.dispose]();
});

async function verify(words: string[]) {
  let out = "";
  const exit = await run(["verify", "--json", ...words], {
    out: async (text) => {
      out += text;
    },
    err: async () => {},
    interactive: false,
  });
  return { exit, ...JSON.parse(out || "{}") };
}

describe("governd verify", () => {
  for (const { name, apply, verify: words, exit, codes } of CORRUPTIONS) {
    compared(name, async () => {
      const places = copyBase(base, join(directory.path, name));
      await apply(places);
      const found = await verify(words(places));
      await filesReleased();
      const named = (found.sources ?? []).flatMap(({ problems }: { problems: { code: string }[] }) =>
        problems.map(({ code }) => code),
      );
      // The second program verifies whole logs.
      const given = words(places);
      if (!given.includes("--agent")) {
        const said = await second.run(...given);
        expect([said.code, codesOf(said.codes)], `verify.py: ${said.out}`).toEqual([exit, codesOf(named)]);
      }
      expect([found.exit, found.exit_code ?? exit], JSON.stringify(found.sources?.[0]?.problems)).toEqual([exit, exit]);
      if (codes.length === 0) expect(named).toEqual([]);
      else
        expect(
          named.some((code: string) => codes.includes(code)),
          named.join(),
        ).toBe(true);
    });
  }

  compared("finds what contradicts itself whichever key is given", async () => {
    const foreign = join(directory.path, "foreign.pub");
    writeFileSync(foreign, publicPem(readSealKey({ kind: "pem", pem: newSealKey() })));
    const found = CORRUPTIONS.filter(({ exit }) => exit === 1);
    // One in so many, others in each run.
    const every = effort({ usual: 5, long: 1 });
    for (const { name, apply, verify: words } of found.filter((_, index) => (index + SEED) % every === 0)) {
      const places = copyBase(base, join(directory.path, `${name}-again`));
      await apply(places);
      const given = words(places).map((word) => (word === places.publicKey ? foreign : word));
      expect([name, (await verify(given)).exit]).toEqual([name, 1]);
      if (!given.includes("--agent")) expect([name, (await second.run(...given)).code]).toEqual([name, 1]);
    }
  });

  compared("says first that only a key tells by whom the evidence was sealed", async () => {
    const unknown = "by whom is not established: no key was given";
    for (const evidence of [base.database, base.json, base.ndjson]) {
      const plain = await governd(["verify", evidence], { released: false });
      expect([plain.code, plain.out.split("\n")[0]]).toEqual([0, expect.stringContaining(unknown)]);
      expect((await verify([evidence])).signer_known).toBe(false);
      expect((await second.run(evidence)).out.split("\n")[0]).toContain(unknown);
      const withKey = [evidence, "--public-key", base.publicKey];
      expect((await governd(["verify", ...withKey], { released: false })).out).not.toContain(unknown);
      expect((await verify(withKey)).signer_known).toBe(true);
      expect((await second.run(...withKey)).out).not.toContain(unknown);
    }
  });

  compared("says which events are sealed, unsealed and anchored", async () => {
    const { sources } = await verify([base.database, "--public-key", base.publicKey, "--seal", base.earlySeal]);
    const [{ events, sealed_through, anchored_through }] = sources;
    expect(sealed_through).toBe(events - 2);
    expect(anchored_through).toBe(4);
  });
});
