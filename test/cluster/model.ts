/**
 * What one workspace should be, event by event: the audit trail is replayed in its order, and each answer that a client got
 * is compared with what it should be at that moment.
 */
import type { Answered } from "../support/client.ts";
import { isPersonal, type Wish } from "./history.ts";

/** An event of the trail, as an export has it. */
export interface TrailEvent {
  seq: number;
  id: string;
  agent_id: string | null;
  operation: string;
  result: string;
  // biome-ignore lint/suspicious/noExplicitAny: each operation has its own
  details: any;
}

interface Entry {
  value: string;
  /** The id of the event that wrote it. */
  version: string;
}

interface Config {
  version: number;
  blocks: boolean;
  /** Names its content. */
  nonce: string;
}

interface AgentModel {
  entries: Map<string, Entry>;
  config: Config | null;
}

/** Collects what is not as it should be. */
class Comparison {
  readonly wrong: string[] = [];

  constructor(
    readonly event: TrailEvent,
    private readonly answer: Answered | null,
  ) {}

  agree(what: string, found: unknown, expected: unknown): void {
    if (JSON.stringify(found) === JSON.stringify(expected)) return;
    this.wrong.push(`${what} is ${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`);
  }

  result(expected: string): void {
    this.agree("the event's result", this.event.result, expected);
  }

  /** The client was told this, if it was told anything. */
  told(status: number, expected: object): void {
    if (this.answer === null) return;
    this.agree("the status", this.answer.status, status);
    for (const [member, value] of Object.entries(expected))
      this.agree(`the answer's ${member}`, this.answer.json[member], value);
  }

  /** Some of what the client was told. */
  heard(what: string, of: (answer: Answered) => unknown, expected: unknown): void {
    if (this.answer !== null) this.agree(what, of(this.answer), expected);
  }
}

export class Model {
  readonly #agents = new Map<string, AgentModel>();
  readonly #checkpoints = new Map<string, AgentModel>();
  #policies = { version: 0, blocks: false };

  /**
   * Moves on by one request: its events, which are one unless it is a batch.
   * @param answer what the client was told; null if it was told nothing
   * @returns what does not agree, in words
   */
  step(wish: Wish, events: readonly TrailEvent[], answer: Answered | null): string[] {
    const event = events[0] as TrailEvent;
    const comparison = new Comparison(event, answer);
    if (wish.kind === "policies") {
      this.#policies = { version: this.#policies.version + 1, blocks: wish.blocks };
      comparison.result("ok");
      comparison.told(200, { version: `p${this.#policies.version}` });
      return comparison.wrong;
    }
    const agent = this.#agent(wish.agent);
    if (wish.kind === "write") this.#write(agent, wish, comparison);
    else if (wish.kind === "batch") batch(agent, wish, events, comparison);
    else if (wish.kind === "restore") this.#restore(agent, wish.checkpoint, comparison);
    else if (wish.kind === "read") read(agent, wish.key, comparison);
    else if (wish.kind === "delete") remove(agent, wish.key, comparison);
    else if (wish.kind === "list") list(agent, comparison);
    else if (wish.kind === "configure") configure(agent, wish, comparison);
    else this.#checkpoint(agent, comparison);
    return comparison.wrong;
  }

  #write(agent: AgentModel, wish: Wish & { kind: "write" }, comparison: Comparison): void {
    const { key, value, condition } = wish;
    const present = agent.entries.get(key);
    const isMet =
      condition === null ||
      (condition === "none" ? present === undefined : present !== undefined && condition.version === present.version);
    if (!isMet) {
      comparison.result("conflict");
      comparison.told(412, { code: "version_conflict", current_version: present?.version ?? null });
    } else if (isPersonal(value) && this.#isBlocking(agent.config)) {
      comparison.result("blocked");
      comparison.told(200, { allowed: false });
    } else {
      const { id } = comparison.event;
      agent.entries.set(key, { value, version: id });
      comparison.result("allowed");
      comparison.told(200, { allowed: true, audit_id: id });
    }
  }

  #checkpoint(agent: AgentModel, comparison: Comparison): void {
    const { seq, details } = comparison.event;
    const entry_count = agent.entries.size;
    comparison.result("ok");
    comparison.agree("the number of entries", details.entry_count, entry_count);
    comparison.told(201, { id: details.checkpoint_id, audit_seq: seq, entry_count });
    this.#keep(details.checkpoint_id, agent);
  }

  #restore(agent: AgentModel, checkpoint: string, comparison: Comparison): void {
    const copy = this.#checkpoints.get(checkpoint);
    if (copy === undefined) {
      comparison.agree("the restored checkpoint", checkpoint, "one that was made");
      return;
    }
    const { details } = comparison.event;
    const coming = [...copy.entries].filter(([key, { version }]) => agent.entries.get(key)?.version !== version);
    const removed = [...agent.entries.keys()].filter((key) => !copy.entries.has(key)).length;
    const isNewConfig = copy.config !== null && copy.config.nonce !== agent.config?.nonce;
    if (
      this.#isBlocking(isNewConfig ? copy.config : agent.config) &&
      coming.some(([, { value }]) => isPersonal(value))
    ) {
      comparison.result("blocked");
      comparison.told(409, { code: "restore_blocked" });
      return;
    }
    comparison.result("ok");
    comparison.agree("what came back", [details.entries_restored, details.entries_removed], [coming.length, removed]);
    comparison.told(200, { entries_restored: coming.length, entries_removed: removed });
    this.#keep(details.safety_checkpoint_id, agent);
    if (isNewConfig && copy.config !== null) {
      const version = (agent.config?.version ?? 0) + 1;
      comparison.agree("the config's version", details.config_version, `v${version}`);
      agent.config = { ...copy.config, version };
    }
    agent.entries = new Map(copy.entries);
  }

  #isBlocking = (config: Config | null): boolean => this.#policies.blocks || config?.blocks === true;

  #keep(id: string, { entries, config }: AgentModel): void {
    this.#checkpoints.set(id, { entries: new Map(entries), config });
  }

  #agent(id: string): AgentModel {
    const agent = this.#agents.get(id) ?? { entries: new Map(), config: null };
    this.#agents.set(id, agent);
    return agent;
  }
}

function batch(
  agent: AgentModel,
  wish: Wish & { kind: "batch" },
  events: readonly TrailEvent[],
  comparison: Comparison,
) {
  for (const [at, { key, value }] of wish.entries.entries()) {
    const { id, result } = events[at] as TrailEvent;
    comparison.agree("the result in a batch", result, "allowed");
    agent.entries.set(key, { value, version: id });
  }
  comparison.told(200, { applied: true });
  const ids = (answer: Answered) => (answer.json.results as { audit_id: string }[]).map(({ audit_id }) => audit_id);
  comparison.heard(
    "the events of a batch",
    ids,
    events.map(({ id }) => id),
  );
}

function configure(agent: AgentModel, { blocks, nonce }: Wish & { kind: "configure" }, comparison: Comparison): void {
  const version = (agent.config?.version ?? 0) + 1;
  agent.config = { version, blocks, nonce };
  comparison.result("ok");
  comparison.told(200, { version: `v${version}` });
}

function read({ entries }: AgentModel, key: string, comparison: Comparison): void {
  const present = entries.get(key);
  if (present === undefined) {
    comparison.result("not_found");
    comparison.told(404, { code: "entry_not_found" });
    return;
  }
  comparison.result("ok");
  comparison.told(200, { value: present.value });
  comparison.heard("the version", ({ headers }) => headers.get("etag"), `"${present.version}"`);
}

function remove({ entries }: AgentModel, key: string, comparison: Comparison): void {
  const wasThere = entries.delete(key);
  comparison.result(wasThere ? "ok" : "not_found");
  comparison.told(wasThere ? 200 : 404, wasThere ? { deleted: 1 } : { code: "entry_not_found" });
}

function list({ entries }: AgentModel, comparison: Comparison): void {
  comparison.result("ok");
  const listed = ({ json }: Answered) =>
    (json.data as { key: string; audit_id: string }[]).map(({ key, audit_id }) => [key, audit_id]);
  const expected = [...entries].sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, { version }]) => [key, version]);
  comparison.heard("the list", listed, expected);
}
