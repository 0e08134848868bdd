/** A client that repeats everything with idempotency keys gets exactly what it asked for, however often the daemon is killed. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { makeWorkspace } from "../cli/governd.ts";
import { type RunningDaemon, startGovernd } from "../cli/governd-process.ts";
import { effort } from "../effort.ts";
import { Seeded } from "../seeded.ts";
import { type Answered, Client, type Sent } from "../support/client.ts";
import { WorkspaceView } from "../support/workspace-view.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";

const KILLS = effort({ usual: 5, long: 50 });
const CLIENTS = 4;
/** The daemon is killed after at least and at most so many answers. */
const ANSWERS_BEFORE = 5;
const ANSWERS_MOST = 60;

/** An agent's state as its requests should leave it. */
class Wanted {
  readonly entries = new Map<string, string>();
  configs = 0;
  checkpoints = 0;
  events = 0;

  constructor(
    readonly agent: string,
    private readonly random: Seeded,
  ) {}

  /** Returns the next request, and notes what it is to do. */
  next(): Sent {
    this.events += 1;
    const { agent } = this;
    const key = `k${this.random.below(6)}`;
    const value = `${this.events}`;
    // The agent begins with an entry.
    const kind = this.events === 1 ? null : this.random.below(6);
    if (kind === 0) {
      this.configs += 1;
      return { method: "PUT", path: `/v1/config/${agent}`, body: { of: value } };
    }
    if (kind === 1) {
      this.checkpoints += 1;
      return { path: "/v1/checkpoints", body: { agent_id: agent, label: value } };
    }
    if (kind === 2) {
      this.entries.delete(key);
      return { method: "DELETE", path: "/v1/data", query: { agent_id: agent, key } };
    }
    if (kind === 3) {
      // Two operations, each with its own event.
      this.events += 1;
      this.entries.delete(key);
      this.entries.set(`${key}/moved`, value);
      const operations = [
        { op: "delete", key },
        { op: "write", key: `${key}/moved`, value },
      ];
      return { path: "/v1/data/batch", body: { agent_id: agent, operations } };
    }
    this.entries.set(key, value);
    return { path: "/v1/data/write", body: { agent_id: agent, key, value } };
  }
}

test(
  "killed again and again, every request is carried out once",
  async () => {
    using directory = temporaryDirectory();
    const data = directory.join("data");
    const { workspace_id: id, api_key: apiKey } = await makeWorkspace(data, "killed");
    let daemon: RunningDaemon = await startGovernd(data);
    const ca = readFileSync(join(data, "tls", "ca.crt"), "utf8");
    let answers = 0;
    let replays = 0;
    let isOver = false;

    /** Sends a request until there is an answer to it. */
    const insist = async (sent: Sent): Promise<Answered> => {
      for (;;) {
        const asked = daemon;
        try {
          const answered = await new Client(asked.url, ca, apiKey).send(sent);
          if (answered.status !== 503 && answered.json?.code !== "idempotency_in_progress") return answered;
        } catch {
          // Nobody knows whether it was carried out.
          while (asked === daemon) await Bun.sleep(5);
        }
      }
    };
    const work = async (wanted: Wanted) => {
      while (!isOver) {
        const sent = { ...wanted.next(), headers: { "idempotency-key": `${wanted.agent}/${wanted.events}` } };
        const { status, headers, text } = await insist(sent);
        if (status >= 300 && status !== 404) throw new Error(`${status} ${text}`);
        if (headers.has("idempotent-replayed")) replays += 1;
        answers += 1;
      }
    };

    const random = new Seeded(1);
    const all = Array.from({ length: CLIENTS }, (_, at) => new Wanted(`agent-${at}`, new Seeded(at)));
    const working = Promise.all(all.map(work));
    for (let kills = 0; kills < KILLS; kills++) {
      const enough = answers + random.between(ANSWERS_BEFORE, ANSWERS_MOST);
      while (answers < enough) await Promise.race([Bun.sleep(1), working]);
      await daemon.stop("SIGKILL");
      daemon = await startGovernd(data);
    }
    isOver = true;
    await working;

    const client = new Client(daemon.url, ca, apiKey);
    for (const { agent, entries, configs, checkpoints } of all) {
      const query = { agent_id: agent, limit: 1_000 };
      const { json: listed } = await client.get("/v1/data/list", { ...query, include_values: true });
      const stored = listed.data.map((entry: { key: string; value: string }) => [entry.key, entry.value]);
      expect(new Map(stored)).toEqual(entries);
      const { json: versions } = await client.get(`/v1/config/${agent}/versions`, { limit: 1 });
      expect(versions.data[0]?.version).toBe(configs === 0 ? undefined : `v${configs}`);
      const { json: made } = await client.get("/v1/checkpoints", query);
      expect(made.data).toHaveLength(checkpoints);
    }
    await daemon.stop();
    using view = new WorkspaceView(join(data, "workspaces", `${id}.db`));
    expect((await view.verify()).problems).toEqual([]);
    const asked = /^(data\.(write|delete)|config\.update|checkpoint\.create)$/;
    for (const { agent, events } of all) {
      const of = view.eventsAfter(-1).filter(({ agentId, operation }) => agentId === agent && asked.test(operation));
      expect([agent, of.length]).toEqual([agent, events]);
    }
    console.info(`${answers} answers, ${replays} of them stored ones, after ${KILLS} kills`);
  },
  PROCESS_TEST_MS + KILLS * 10_000,
);
