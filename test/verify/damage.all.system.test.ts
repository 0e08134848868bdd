/** A file whose pages are damaged: the daemon and both programs say the same of it, and accuse nobody. */
import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { lookOf } from "../../src/serve/threads/registry.ts";
import { openConnection } from "../../src/store/connection.ts";
import { governd } from "../cli/governd.ts";
import { Judge } from "../corpus/judge.ts";
import { effort } from "../effort.ts";
import { inMemory, temporaryDirectory } from "../temporary.ts";
import { Driver, WORKSPACE_ID } from "./sample-workspace.ts";
import { compared, HAS_PYTHON, SecondVerifier } from "./second-verifier.ts";

/** The second page is the map of pages: SQLite reads it only when it changes the file. */
const IN_THE_MAP = 4096 + 7;

test("damaged pages are damage, in the words of the command also through the API", async () => {
  using directory = temporaryDirectory(inMemory());
  const path = directory.join("w.db");
  const driver = await Driver.create(path);
  for (let i = 0; i < 20; i++) await driver.write("alpha", `k${i}`, "v");
  driver.connection.run("UPDATE entries SET value = '\"changed\"' WHERE key = 'k3'");
  driver.connection.truncateLog();
  driver.close();
  const bytes = readFileSync(path);
  bytes[IN_THE_MAP] = (bytes[IN_THE_MAP] as number) ^ 32;
  writeFileSync(path, bytes);

  const { code, json } = await governd(["verify", path, "--json"]);
  const { sources } = json<{ sources: { problems: { code: string; message: string }[] }[] }>();
  const [problem] = sources[0]?.problems ?? [];
  expect([code, sources[0]?.problems.length, problem?.code]).toEqual([2, 1, "evidence_unreadable"]);
  expect(problem?.message).toMatch(/^the database is damaged or cut off: .* \((?!\*).+\)$/);

  await using python = new SecondVerifier();
  if (HAS_PYTHON) expect(await python.run(path)).toMatchObject({ code: 2, codes: ["evidence_unreadable"] });

  using connection = openConnection(path, { readOnly: true });
  const principal = { actor: "cli", workspaceId: WORKSPACE_ID, scope: "full" as const, agents: null };
  const context = { workspaceId: WORKSPACE_ID, principal, nowMs: 0, indexes: null, openControl: null };
  const scope = { scope: "workspace" } as const;
  const answer = await lookOf("audit.verify")(connection, context as never, { scope });
  expect(answer).toMatchObject({ valid: false, completeness: "unknown", problem_count: 1, problems: [problem] });
});

/** The header of a database's file (https://www.sqlite.org/fileformat2.html#the_database_header). */
const HEADER_BYTES = 100;
/** Of the header's bits: no divisor of the eight of a byte. */
const EVERY = effort({ usual: 11, long: 1 });

compared.each(["", " beside a log"])(
  "both programs say the same of every bit of a database's header%s",
  async (log) => {
    using directory = temporaryDirectory(inMemory());
    await using judge = new Judge(directory.path);
    const path = directory.join("w.db");
    const driver = await Driver.create(path);
    await driver.write("alpha", "k", "v");
    driver.connection.truncateLog();
    if (log !== "") driver.connection.exec("CREATE TABLE one (a); DROP TABLE one");
    const [original, wal] = [readFileSync(path), readFileSync(`${path}-wal`)];
    driver.close();
    const differences: unknown[] = [];
    for (let bit = 0; bit < HEADER_BYTES * 8; bit += EVERY) {
      const flipped = Buffer.from(original);
      flipped[bit >> 3] = (flipped[bit >> 3] as number) ^ (1 << (bit & 7));
      // A file of its own: the driver closes files later, and the last connection to one removes its log.
      const damaged = directory.join(`${bit}.db`);
      writeFileSync(damaged, flipped);
      writeFileSync(`${damaged}-wal`, wal);
      const [ours, theirs] = await judge.exits(damaged, { keys: [] });
      if (theirs?.code !== ours.code) differences.push([`byte ${bit >> 3} bit ${bit & 7}`, ours, theirs]);
    }
    expect(differences).toEqual([]);
  },
);
