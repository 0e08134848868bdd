/**
 * What random clients of several nodes asked of one workspace, and what they were answered: the material of the checker
 * (`check.ts`). Agents have few keys, so that clients meet.
 */
import type { Seeded } from "../seeded.ts";
import type { Answered, Client, Sent } from "../support/client.ts";

/** What a client wants. */
export type Wish =
  | { kind: "write"; agent: string; key: string; value: string; condition: null | "none" | { version: string } }
  | { kind: "batch"; agent: string; entries: { key: string; value: string }[] }
  | { kind: "read" | "delete"; agent: string; key: string }
  | { kind: "list" | "checkpoint"; agent: string }
  | { kind: "restore"; agent: string; checkpoint: string }
  | { kind: "configure"; agent: string; blocks: boolean; nonce: string }
  | { kind: "policies"; agent: null; blocks: boolean; nonce: string };

/**
 * How a request ended: with an answer that names its event; with one that says that nothing was done; or without any, or
 * with one that says that it is not known.
 */
export type Outcome = { kind: "answered"; answer: Answered } | { kind: "refused"; why: string } | { kind: "unknown" };

export interface Call {
  wish: Wish;
  /** The `traceparent` of the request, which names its events in the trail. */
  trace: string;
  /** On one clock for all clients, ms. */
  begunAt: number;
  /** Infinite if there was no definite answer. */
  endedAt: number;
  outcome: Outcome;
}

/** A text that policies on personal data block. */
const PERSONAL = "call +1 415 555 2671";

export const isPersonal = (value: string): boolean => value.includes(PERSONAL);

/** How long a client waits for an answer, ms. */
const PATIENCE_MS = 6_000;

const AGENTS = ["amber", "birch", "cedar"];
const KEYS = ["k0", "k1", "k2", "k3", "k4"];

/** The clients of one workspace, and what they saw. */
export class Clients {
  readonly calls: Call[] = [];
  /** Answers that no client may ever get. */
  readonly violations: string[] = [];
  #count = 0;
  #traces = 0;
  /** What was seen of each agent, for conditions and restores. */
  readonly #versions: string[] = [];
  readonly #checkpoints = new Map<string, string[]>();

  /** `nodes` has one client for each node. `clock`: ms. */
  constructor(
    private readonly nodes: () => readonly Client[],
    private readonly random: Seeded,
    private readonly clock: () => number = () => performance.now(),
  ) {}

  /** Begins every agent, so that none of its events is in the workspace's own chain. Repeats what fails. */
  async begin(): Promise<void> {
    for (const agent of AGENTS)
      while (
        (await this.call({ kind: "configure", agent, blocks: false, nonce: this.#fresh() })).outcome.kind !== "answered"
      );
  }

  /** One client: asks any node for anything, until `isOver`. */
  async run(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const { outcome } = await this.call(this.#next());
      if (outcome.kind !== "answered") await Bun.sleep(this.random.between(5, 50));
    }
  }

  /** Lists what every agent has in the end. */
  async finish(): Promise<void> {
    for (const agent of AGENTS) while ((await this.call({ kind: "list", agent })).outcome.kind !== "answered");
  }

  async call(wish: Wish): Promise<Call> {
    const begunAt = this.clock();
    const trace = `00-${(++this.#traces).toString(16).padStart(32, "0")}-${"1".padStart(16, "0")}-01`;
    const outcome = await this.#outcome(wish, trace);
    const call = {
      wish,
      trace,
      begunAt,
      endedAt: outcome.kind === "unknown" ? Number.POSITIVE_INFINITY : this.clock(),
      outcome,
    };
    this.calls.push(call);
    if (outcome.kind === "answered") this.#learn(wish, outcome.answer);
    return call;
  }

  async #outcome(wish: Wish, traceparent: string): Promise<Outcome> {
    let answer: Answered;
    try {
      const nodes = this.nodes();
      if (nodes.length === 0) return { kind: "refused", why: "no node runs" };
      const sent = sentFor(wish);
      const headers = { ...sent.headers, traceparent };
      answer = await atMost(this.random.pick(nodes).send({ ...sent, headers, once: true }));
    } catch {
      return { kind: "unknown" };
    }
    if (answer.headers.has("x-audit-id")) return { kind: "answered", answer };
    const code: unknown = answer.json?.code;
    if (answer.status === 503 && code === "outcome_unknown") return { kind: "unknown" };
    if (answer.status === 503 || answer.status === 429)
      return { kind: "refused", why: `${code}: ${answer.json?.detail}` };
    this.violations.push(`${wish.kind} was answered ${answer.status} ${answer.text.slice(0, 200)}`);
    return { kind: "unknown" };
  }

  #learn(wish: Wish, { json, status }: Answered): void {
    if (status >= 300 || wish.agent === null) return;
    if (wish.kind === "write" && json.audit_id !== undefined) this.#versions.push(json.audit_id);
    const made = wish.kind === "checkpoint" ? json.id : wish.kind === "restore" ? json.safety_checkpoint_id : null;
    if (made !== null) this.#checkpoints.set(wish.agent, [...(this.#checkpoints.get(wish.agent) ?? []), made]);
  }

  readonly #fresh = () => `n${this.#count++}`;

  #next(): Wish {
    const agent = this.random.pick(AGENTS);
    const key = this.random.pick(KEYS);
    const value = this.#fresh();
    const checkpoints = this.#checkpoints.get(agent) ?? [];
    return this.random.weighted<() => Wish>([
      [30, () => ({ kind: "write", agent, key, value, condition: null })],
      [8, () => ({ kind: "write", agent, key, value: `${value} ${PERSONAL}`, condition: null })],
      [6, () => ({ kind: "write", agent, key, value, condition: "none" })],
      [6, () => ({ kind: "write", agent, key, value, condition: this.#someVersion() })],
      [8, () => ({ kind: "batch", agent, entries: this.#entries(value) })],
      [30, () => ({ kind: "read", agent, key })],
      [8, () => ({ kind: "delete", agent, key })],
      [6, () => ({ kind: "list", agent })],
      [3, () => ({ kind: "checkpoint", agent })],
      [checkpoints.length > 0 ? 3 : 0, () => ({ kind: "restore", agent, checkpoint: this.random.pick(checkpoints) })],
      [2, () => ({ kind: "configure", agent, blocks: this.random.chance(0.5), nonce: value })],
      [1, () => ({ kind: "policies", agent: null, blocks: this.random.chance(0.5), nonce: value })],
    ])();
  }

  #entries(value: string): { key: string; value: string }[] {
    return this.random
      .shuffled(KEYS)
      .slice(0, 3)
      .map((key, at) => ({ key, value: `${value}.${at}` }));
  }

  /** A version that some entry had lately; none has it when nothing was written. */
  #someVersion(): { version: string } | "none" {
    const newest = this.#versions.slice(-10);
    return newest.length === 0 ? "none" : { version: this.random.pick(newest) };
  }
}

/** A client does not wait for ever: a node may be frozen. */
function atMost<T>(answer: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error("it takes too long")), PATIENCE_MS);
  return Promise.race([answer, promise]).finally(() => clearTimeout(timer));
}

function sentFor(wish: Wish): Sent {
  switch (wish.kind) {
    case "write":
      return {
        path: "/v1/data/write",
        body: { agent_id: wish.agent, key: wish.key, value: wish.value },
        headers: conditionOf(wish.condition),
      };
    case "batch": {
      const operations = wish.entries.map((entry) => ({ op: "write", ...entry }));
      return { path: "/v1/data/batch", body: { agent_id: wish.agent, operations } };
    }
    case "read":
      return { path: "/v1/data/read", query: { agent_id: wish.agent, key: wish.key } };
    case "delete":
      return { method: "DELETE", path: "/v1/data", query: { agent_id: wish.agent, key: wish.key } };
    case "list":
      return { path: "/v1/data/list", query: { agent_id: wish.agent } };
    case "checkpoint":
      return { path: "/v1/checkpoints", body: { agent_id: wish.agent } };
    case "restore":
      return { path: `/v1/checkpoints/${wish.checkpoint}/restore`, body: {} };
    case "configure":
      return {
        method: "PUT",
        path: `/v1/config/${wish.agent}`,
        body: { nonce: wish.nonce, policies: { block_pii: wish.blocks } },
      };
    case "policies":
      return { method: "PUT", path: "/v1/policies", body: { policies: { block_pii: wish.blocks } } };
  }
}

function conditionOf(condition: null | "none" | { version: string }): Record<string, string> {
  if (condition === null) return {};
  return condition === "none" ? { "if-none-match": "*" } : { "if-match": `"${condition.version}"` };
}
