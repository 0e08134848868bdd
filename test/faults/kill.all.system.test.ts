/** Killed in the middle of everything: many workspaces, every kind of change, commands beside the daemon. */
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { governd, type MadeWorkspace, makeWorkspace } from "../cli/governd.ts";
import { GOVERND, type RunningDaemon, startGovernd } from "../cli/governd-process.ts";
import { effort } from "../effort.ts";
import { eventually } from "../eventually.ts";
import { SEED } from "../seed.ts";
import { Seeded } from "../seeded.ts";
import { PROCESS_TEST_MS, type TemporaryDirectory, temporaryDirectory } from "../temporary.ts";

setDefaultTimeout(3 * PROCESS_TEST_MS);

const WORKSPACES = 6;
/** An even number: what runs beside the daemon changes from one to the next. */
const KILLS = effort({ usual: 2, long: 20 });
/** Acknowledged changes after which the daemon is killed: at least, and at most so many more. */
const CHANGES_BEFORE = 30;
const CHANGES_SPREAD = effort({ usual: 150, long: 400 });

let directory: TemporaryDirectory;
let data: string;
beforeEach(() => {
  directory = temporaryDirectory();
  data = directory.join("data");
});
afterEach(() => directory[Symbol.dispose]());

/** One client of one workspace: it changes everything that can be changed, until the daemon is gone. */
class Client {
  /** Values whose write was acknowledged, and nothing was begun that could change them. */
  readonly certain = new Map<string, string>();
  acknowledged = 0;
  readonly refused: string[] = [];
  #count = 0;

  constructor(readonly made: MadeWorkspace) {}

  async run(daemon: RunningDaemon): Promise<void> {
    try {
      for (;;) await this.#round(daemon);
    } catch {
      // The daemon is gone.
    }
  }

  async #round(daemon: RunningDaemon): Promise<void> {
    const post = async (path: string, body: object = {}, method = "POST") => {
      const response = await daemon.ask(path, { method, body: JSON.stringify(body), apiKey: this.made.api_key });
      if (response.status >= 400) this.refused.push(`${path} ${response.status} ${await response.text()}`);
      this.acknowledged++;
      return (await response.json()) as { id: string };
    };
    const keeping = `keep-${this.#count}`;
    await post("/v1/data/write", { agent_id: "keeper", key: keeping, value: keeping });
    this.certain.set(keeping, keeping);
    const agent_id = `agent-${this.#count++ % 3}`;
    await post("/v1/data/write", { agent_id, key: `k${this.#count % 7}`, value: crypto.randomUUID() });
    await post(`/v1/config/${agent_id}`, { instructions: crypto.randomUUID() }, "PUT");
    const { id } = await post("/v1/checkpoints", { agent_id, label: "under load" });
    await post("/v1/data/write", { agent_id, key: `k${(this.#count + 1) % 7}`, value: crypto.randomUUID() });
    await post(`/v1/checkpoints/${id}/restore`);
    if (this.#count % 3 === 0) await post("/v1/audit/export", { scope: "workspace", format: "ndjson" }).catch(gone);
  }

  async check(daemon: RunningDaemon): Promise<void> {
    for (const [key, value] of this.certain) {
      const answer = await daemon.ask(`/v1/data/read?agent_id=keeper&key=${key}`, { apiKey: this.made.api_key });
      expect(await answer.json()).toMatchObject({ key, value });
    }
  }
}

/** An export is no JSON value; only that the daemon is gone matters here. */
const gone = (error: unknown) => {
  if (!(error instanceof SyntaxError)) throw error;
};

const total = (clients: readonly Client[]) => clients.reduce((sum, { acknowledged }) => sum + acknowledged, 0);

test.each([
  ["in plain", []],
  ["encrypted", ["--encryption-key-file"]],
])("the daemon and the commands beside it, %s", async (_, flags) => {
  const keyFile = directory.join("key");
  writeFileSync(keyFile, "ab".repeat(32));
  const key = flags.flatMap((flag) => [flag, keyFile]);
  const random = new Seeded(SEED);
  const clients: Client[] = [];
  for (let i = 0; i < WORKSPACES; i++) {
    clients.push(new Client(await makeWorkspace(data, `${i}`, key)));
  }
  for (let round = 0; round < KILLS; round++) {
    await using daemon = await startGovernd(data, ["--seal-interval", "1s", ...key]);
    for (const client of clients) await client.check(daemon);
    const enough = total(clients) + CHANGES_BEFORE + random.below(CHANGES_SPREAD);
    const running = clients.map((client) => client.run(daemon));
    // A command that changes every workspace, and dies at any moment as well.
    const words = round % 2 === 0 ? ["rotate-seal-key"] : ["key-info"];
    const beside = Bun.spawn([...GOVERND, ...words, "--data-dir", data, ...key], {
      env: {},
      stdout: "ignore",
      stderr: "ignore",
    });
    await eventually("it is under load", () => total(clients) >= enough);
    beside.kill("SIGKILL");
    await daemon.stop("SIGKILL");
    await beside.exited;
    await Promise.all(running);
    const verified = await governd(["verify", data, ...key]);
    expect(verified).toMatchObject({ code: 0 });
    expect(clients.flatMap(({ refused }) => refused)).toEqual([]);
  }
  // The interrupted rotation resumes where it stopped, and then everything can be sealed.
  expect(await governd(["rotate-seal-key", "--data-dir", data, ...key])).toMatchObject({ code: 0 });
  await using daemon = await startGovernd(data, key);
  for (const client of clients) await client.check(daemon);
  const { err } = await daemon.stop();
  expect(err).not.toContain("SealRefused");
  const json = (await governd(["verify", data, "--json", ...key])).json<{
    sources: { kind: string; sealed_through: number; events: number }[];
  }>();
  expect(new Set(json.sources.map(({ kind }) => kind))).toEqual(new Set(["workspace"]));
  expect(json.sources.filter(({ sealed_through, events }) => sealed_through !== events - 1)).toEqual([]);
});
