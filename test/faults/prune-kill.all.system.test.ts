/** `governd prune` killed at any moment, beside a daemon under load: all of it is done, or nothing. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { governd, makeWorkspace } from "../cli/governd.ts";
import { GOVERND, governdProcess, type RunningDaemon, startGovernd } from "../cli/governd-process.ts";
import { effort } from "../effort.ts";
import { eventually } from "../eventually.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";

setDefaultTimeout(3 * PROCESS_TEST_MS);

const EVENTS = 1_200;
const AT_ONCE = 40;
const KILLS = effort({ usual: 4, long: 20 });
const SEAL_INTERVAL_MS = 1_000;
/** Whole tiles of 256 events that the first ones fill. */
const PRUNABLE = 4 * 256;

interface Plan {
  from_seq: number;
  before_seq: number;
  events: number;
  pruned: boolean;
}

/** Writes until stopped, and counts acknowledged writes. */
class Load {
  acknowledged = 0;
  #stopped = false;
  readonly #done: Promise<void>;

  constructor(
    readonly write: (key: string) => Promise<Response>,
    readonly prefix: string,
  ) {
    this.#done = this.#run();
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      const answer = await this.write(`${this.prefix}${this.acknowledged}`);
      // The pruning process has the file to itself for a moment.
      if (answer.status === 200) this.acknowledged++;
      else expect(answer.status).toBe(503);
    }
  }

  stop(): Promise<void> {
    this.#stopped = true;
    return this.#done;
  }
}

test("a pruning that is killed is done or not begun, and can be done again", async () => {
  using directory = temporaryDirectory();
  const data = directory.join("data");
  const made = await makeWorkspace(data);
  await using daemon: RunningDaemon = await startGovernd(data, ["--seal-interval", `${SEAL_INTERVAL_MS / 1000}s`]);
  const post = (path: string, body: object) =>
    daemon.ask(path, { method: "POST", body: JSON.stringify(body), apiKey: made.api_key });
  const write = (key: string) => post("/v1/data/write", { agent_id: "a", key, value: `of ${key}` });
  // With a history, the stored versions would keep their events.
  const config = JSON.stringify({ policies: { history_days: 0 } });
  await daemon.ask("/v1/config/a", { method: "PUT", body: config, apiKey: made.api_key });
  for (let i = 0; i < EVENTS; i += AT_ONCE) {
    const answers = await Promise.all(Array.from({ length: AT_ONCE }, (_, k) => write(`old-${(i + k) % 100}`)));
    expect(answers.every(({ status }) => status === 200)).toBe(true);
  }
  const exported = directory.join("export.ndjson");
  writeFileSync(exported, await (await post("/v1/audit/export", { scope: "workspace", format: "ndjson" })).text());

  const before = new Date(Date.now() + 1).toISOString();
  const words = ["prune", "--workspace", made.workspace_id, "--before", before, "--data-dir", data, "--json"];
  const plan = async () => (await governd(words)).json<Plan>();
  // Only what is sealed can go.
  await eventually("enough is sealed", async () => {
    await Bun.sleep(SEAL_INTERVAL_MS / 4);
    return (await plan()).before_seq >= PRUNABLE;
  });
  const whole = await plan();
  expect(whole).toMatchObject({ from_seq: 0, before_seq: PRUNABLE, pruned: false });
  const began = performance.now();
  await governdProcess(words);
  const takesMs = performance.now() - began;
  const doing = [...words, "--yes", "--export", exported];
  for (let round = 0; round < KILLS; round++) {
    const load = new Load(write, `new-${round}-`);
    const child = Bun.spawn([...GOVERND, ...doing], { env: {}, stdout: "ignore", stderr: "ignore" });
    // From before it has begun until after it is done.
    await Bun.sleep((takesMs * (round + 1)) / (KILLS / 2));
    child.kill("SIGKILL");
    await child.exited;
    await load.stop();
    expect(await governd(["verify", data])).toMatchObject({ code: 0 });
    const { from_seq } = await plan();
    expect([0, PRUNABLE]).toContain(from_seq);
    for (let i = 0; i < load.acknowledged; i++) {
      const key = `new-${round}-${i}`;
      const answer = await daemon.ask(`/v1/data/read?agent_id=a&key=${key}`, { apiKey: made.api_key });
      expect(await answer.json()).toMatchObject({ value: `of ${key}` });
    }
  }
  expect(await governd(doing)).toMatchObject({ code: 0 });
  expect((await plan()).from_seq).toBe(PRUNABLE);
  expect(await governd(["verify", exported])).toMatchObject({ code: 0 });
  expect(await governd(["verify", data])).toMatchObject({ code: 0 });
});
