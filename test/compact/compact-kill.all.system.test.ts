/** The daemon or `governd compact` is killed at any moment of a compaction: the file is whole, and nothing is lost. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { governd, makeWorkspace } from "../cli/governd.ts";
import { GOVERND, governdProcess, startGovernd } from "../cli/governd-process.ts";
import { effort } from "../effort.ts";
import { filesReleased } from "../released.ts";
import { SEED } from "../seed.ts";
import { Seeded } from "../seeded.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";

setDefaultTimeout(3 * PROCESS_TEST_MS);

const ROUNDS = effort({ usual: 1, long: 40 });
const ENTRIES = 20;
const VALUE = "v".repeat(100_000);
/** Pause between two writes of the load, which would otherwise take a core. */
const WRITE_EVERY_MS = 5;
/** A compaction begins within this time, and takes about as long. */
const SPREAD_MS = 1_500;

test.each(["daemon", "command"])("during a compaction, the %s is killed", async (killed) => {
  using directory = temporaryDirectory();
  const data = directory.join("data");
  const made = await makeWorkspace(data);
  const words = ["compact", "--data-dir", data, "--json"];
  const kept = new Map<string, string>();
  const random = new Seeded(SEED);
  for (let round = 0; round < ROUNDS; round++) {
    await filesReleased();
    await using daemon = await startGovernd(data);
    const write = async (key: string, value: string) => {
      const body = JSON.stringify({ agent_id: "a", key, value });
      const answer = await daemon.ask("/v1/data/write", { method: "POST", body, apiKey: made.api_key });
      if (answer.status === 200) kept.set(key, value);
    };
    const fill = (prefix: string, value: string) =>
      Promise.all(Array.from({ length: ENTRIES }, (_, i) => write(`${prefix}-${i}`, `${round} ${i} ${value}`)));
    await fill("old", VALUE);
    await fill("kept", "small");
    const erase = ["erase", "--workspace", made.workspace_id, "--agent", "a", "--prefix", "old-", "--data-dir", data];
    expect(await governdProcess(erase)).toMatchObject({ code: 0 });
    for (let i = 0; i < ENTRIES; i++) kept.delete(`old-${i}`);
    const command = Bun.spawn([...GOVERND, ...words], { env: {}, stdout: "ignore", stderr: "ignore" });
    let isOver = false;
    const load = (async () => {
      for (let i = 0; !isOver; i++) {
        await write(`meanwhile-${round}-${i}`, "m").catch(() => {});
        await Bun.sleep(WRITE_EVERY_MS);
      }
    })();
    await Bun.sleep((SPREAD_MS * round + random.below(SPREAD_MS)) / ROUNDS);
    if (killed === "daemon") await daemon.stop("SIGKILL");
    else command.kill("SIGKILL");
    await command.exited;
    isOver = true;
    await load;
    await using again = killed === "daemon" ? await startGovernd(data) : null;
    for (const [key, value] of kept) {
      const answer = await (again ?? daemon).ask(`/v1/data/read?agent_id=a&key=${key}`, { apiKey: made.api_key });
      expect(await answer.json()).toMatchObject({ key, value });
    }
    expect(await governd(["verify", data])).toMatchObject({ code: 0 });
    await (again ?? daemon).stop();
    await filesReleased();
  }
  expect(await governdProcess(words)).toMatchObject({ code: 0, err: "" });
  expect((await governdProcess(words)).json()).toMatchObject({ given_back: 0, workspaces: [] });
  expect(await governd(["verify", data])).toMatchObject({ code: 0 });
});
