/** A client that repeats everything with idempotency keys gets exactly what it asked for, however often the daemon is killed. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { makeWorkspace } from "../cli/governd.ts";
import { type RunningDaemon, startGovernd } from "../cli/governd-process.ts";
import { effort } from "../effort.ts";
import { Seeded } from "../seeded.ts";
import { type Answered, Client, type Sent } from "../support/client.ts";
import { ensureServer } from "../support/own-server.ts";
import { WorkspaceView } from "../support/workspace-view.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";

const KILLS = effort({ usual: 5, long: 50 });
const CLIENTS = 4;
/** The daemon is killed after at least and at most so many answers. */
const ANSWERS_BEFORE = 5;
const ANSWERS_MOST = 60;

const COUNTER = { agent_id: "counted", key: "n" };

/** What a request is to do: `done` is told its answer. */
interface Wish extends Sent {
  done?(answer: Answered): void;
}

interface Copy {
  id: string;
  entries: ReadonlyMap<string, string>;
}

/** An agent's state as its requests should leave it, with every operation that changes something. */
class Wanted {
  entries = new Map<string, string>();
  configs = 0;
  readonly checkpoints: Copy[] = [];
  /** How many times the policies of the workspace were saved. */
  policies = 0;
  /** Events of the agent. */
  events = 0;
  #requests = 0;

  constructor(
    readonly agent: string,
    private readonly random: Seeded,
  ) {}

  /** Returns the next request, and notes what it is to do. */
  next(): Wish & { headers: Record<string, string> } {
    this.#requests += 1;
    this.events += 1;
    // The agent begins with an entry.
    const kinds = this.#requests === 1 ? [this.#write] : this.#kinds();
    const kind = kinds[this.random.below(kinds.length)] as () => Wish;
    return { ...kind(), headers: { "idempotency-key": `${this.agent}/${this.#requests}` } };
  }

  #kinds(): (() => Wish)[] {
    const always = [this.#write, this.#write, this.#delete, this.#deletePrefix, this.#batch, this.#configure];
    const some = [this.#savePolicies, this.#suspend, this.#checkpoint];
    if (this.configs > 0) some.push(this.#rollBack);
    if (this.checkpoints.length > 0) some.push(this.#restore, this.#forget);
    return this.isSuspended ? [this.#resume] : [...always, ...some];
  }

  isSuspended = false;
  readonly #key = () => `k${this.random.below(6)}`;
  readonly #value = () => `${this.#requests}`;

  readonly #write = (): Wish => {
    const [key, value] = [this.#key(), this.#value()];
    this.entries.set(key, value);
    return { path: "/v1/data/write", body: { agent_id: this.agent, key, value } };
  };

  readonly #delete = (): Wish => {
    const key = this.#key();
    this.entries.delete(key);
    return { method: "DELETE", path: "/v1/data", query: { agent_id: this.agent, key } };
  };

  readonly #deletePrefix = (): Wish => {
    const prefix = this.#key();
    for (const key of this.entries.keys()) if (key.startsWith(prefix)) this.entries.delete(key);
    return { method: "DELETE", path: "/v1/data/prefix", query: { agent_id: this.agent, prefix } };
  };

  readonly #batch = (): Wish => {
    // Two operations, each with its own event.
    this.events += 1;
    const [key, value] = [this.#key(), this.#value()];
    this.entries.delete(key);
    this.entries.set(`${key}/moved`, value);
    const operations = [
      { op: "delete", key },
      { op: "write", key: `${key}/moved`, value },
    ];
    return { path: "/v1/data/batch", body: { agent_id: this.agent, operations } };
  };

  readonly #configure = (): Wish => {
    this.configs += 1;
    return { method: "PUT", path: `/v1/config/${this.agent}`, body: { of: this.#value() } };
  };

  readonly #rollBack = (): Wish => {
    this.configs += 1;
    return { path: `/v1/config/${this.agent}/rollback`, body: { version: "v1" } };
  };

  readonly #savePolicies = (): Wish => {
    this.policies += 1;
    this.events -= 1; // It is one of the workspace.
    const policies = { retention_days: 1_000 + this.random.below(1_000) };
    return { method: "PUT", path: "/v1/policies", body: { policies } };
  };

  readonly #checkpoint = (): Wish => {
    const entries = new Map(this.entries);
    const done = ({ json }: Answered) => void this.checkpoints.push({ id: json.id, entries });
    return { path: "/v1/checkpoints", body: { agent_id: this.agent, label: this.#value() }, done };
  };

  readonly #restore = (): Wish => {
    const { id, entries } = this.checkpoints[this.random.below(this.checkpoints.length)] as Copy;
    const before = this.entries;
    this.entries = new Map(entries);
    const done = ({ json }: Answered) => {
      this.checkpoints.push({ id: json.safety_checkpoint_id, entries: before });
      // The config in force when the checkpoint was made comes back, as a new version where it is another one.
      this.configs = json.config_version === null ? 0 : Number(json.config_version.slice(1));
    };
    return { path: `/v1/checkpoints/${id}/restore`, body: {}, done };
  };

  readonly #forget = (): Wish => {
    const [{ id }] = this.checkpoints.splice(this.random.below(this.checkpoints.length), 1) as [Copy];
    return { method: "DELETE", path: `/v1/checkpoints/${id}` };
  };

  readonly #suspend = (): Wish => {
    this.isSuspended = true;
    return { path: `/v1/agents/${this.agent}/suspend`, body: {} };
  };

  readonly #resume = (): Wish => {
    this.isSuspended = false;
    return { path: `/v1/agents/${this.agent}/resume`, body: {} };
  };
}

test(
  "killed again and again, every request is carried out once",
  async () => {
    using directory = temporaryDirectory();
    const data = directory.join("data");
    await ensureServer(data);
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
    /** Adds one to a counter that everybody has, by comparing and setting it. */
    let [added, attempts] = [0, 0];
    const add = async () => {
      for (;;) {
        const read = await insist({ path: "/v1/data/read-full", query: COUNTER });
        const value = String(read.status === 404 ? 1 : Number(read.json.value) + 1);
        const body = { ...COUNTER, value, if_version: read.status === 404 ? null : read.json.audit_id };
        const headers = { "idempotency-key": `add/${++attempts}` };
        const { status } = await insist({ path: "/v1/data/write", body, headers });
        if (status === 200) break;
        expect(status).toBe(412);
      }
      added += 1;
    };
    const work = async (wanted: Wanted) => {
      while (!isOver || wanted.isSuspended) {
        const { done, ...sent } = wanted.next();
        // An answer may get lost on the way, so the client asks again.
        if (lost.below(4) === 0) await insist(sent);
        const answer = await insist(sent);
        const { status, headers, text } = answer;
        if (status >= 300 && status !== 404) throw new Error(`${sent.path} ${status} ${text}`);
        done?.(answer);
        if (headers.has("idempotent-replayed")) replays += 1;
        answers += 1;
        if (lost.below(4) === 0) await add();
      }
    };

    const [random, lost] = [new Seeded(1), new Seeded(2)];
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
    expect(replays).toBeGreaterThan(0);

    const client = new Client(daemon.url, ca, apiKey);
    for (const { agent, entries, configs, checkpoints } of all) {
      const query = { agent_id: agent, limit: 1_000 };
      const { json: listed } = await client.get("/v1/data/list", { ...query, include_values: true });
      const stored = listed.data.map((entry: { key: string; value: string }) => [entry.key, entry.value]);
      expect(new Map(stored)).toEqual(entries);
      const { json: versions } = await client.get(`/v1/config/${agent}/versions`, { limit: 1 });
      expect(versions.data[0]?.version).toBe(configs === 0 ? undefined : `v${configs}`);
      const { json: made } = await client.get("/v1/checkpoints", query);
      expect(made.data.map(({ id: one }: { id: string }) => one).sort()).toEqual(checkpoints.map((it) => it.id).sort());
    }
    expect((await client.read(COUNTER.agent_id, COUNTER.key)).json.value).toBe(String(added));
    const saved = all.reduce((sum, { policies }) => sum + policies, 0);
    const { json: floor } = await client.get("/v1/policies");
    expect(floor.version).toBe(saved === 0 ? null : `p${saved}`);
    await daemon.stop();
    using view = new WorkspaceView(join(data, "workspaces", `${id}.db`));
    expect((await view.verify()).problems).toEqual([]);
    const asked =
      /^(data\.(write|delete|delete_prefix)|config\.(update|rollback)|checkpoint\.(create|restore|delete)|agent\..*)$/;
    for (const { agent, events } of all) {
      const of = view.eventsAfter(-1).filter(({ agentId, operation }) => agentId === agent && asked.test(operation));
      expect([agent, of.length]).toEqual([agent, events]);
    }
    console.info(`${answers} answers, ${replays} of them stored ones, after ${KILLS} kills`);
  },
  PROCESS_TEST_MS + KILLS * 10_000,
);
