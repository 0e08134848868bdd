/**
 * The simplest model of a workspace. It follows the log: the actor of each event names the operation of the simulation
 * that the event records, and the model says what the result of that operation must be at this place in the log.
 */

import type { OperationRequest, WorkspaceEvent } from "../../src/core/writer/contract.ts";
import { canonicalJson } from "../../src/log/jcs.ts";
import type { VersionCondition } from "../../src/operation-facts.ts";
import type { OperationInputs, OperationName, PartOf, PartRequest } from "../../src/operations.ts";
import { DEFAULT_HISTORY, ModelAgent } from "../state/model.ts";
import type { SeenEvent } from "../support/workspace-view.ts";
import { isPii, isSecret, type Policies } from "./operations.ts";

/** An operation that a client requests, or an event to be recorded. */
export type Asked = { request: OperationRequest } | { event: WorkspaceEvent };

interface Config {
  text: string;
  policies: Policies;
}

interface Agent {
  data: ModelAgent;
  configs: Config[];
  suspended: boolean;
  /** The configuration version at each of its checkpoints; 0 for none. */
  checkpoints: Map<string, number>;
}

/** What an event must say. */
interface Expected {
  agentId: string | null;
  result: string;
  /** Members of the details. */
  details?: Record<string, unknown>;
  /** Members of the body that the client gets. */
  body?: Record<string, unknown>;
}

/** What the result of an operation must be. */
interface Taken {
  /** Its events, in order. */
  events: Expected[];
  /** The result in the reply. */
  replied: string;
  /** Members of the body that the client gets, and of the results in it. */
  body?: Record<string, unknown> | undefined;
  results?: (Record<string, unknown> | undefined)[];
}

const only = (event: Expected): Taken => ({ events: [event], replied: event.result, body: event.body });

export class ModelWorkspace {
  readonly agents = new Map<string, Agent>();

  /** Returns the agent of a checkpoint; undefined if there is no such checkpoint. */
  #ownerOf(checkpointId: string): [string, Agent] | undefined {
    return [...this.agents].find(([, { checkpoints }]) => checkpoints.has(checkpointId));
  }

  get checkpoints(): string[] {
    return [...this.agents.values()].flatMap(({ checkpoints }) => [...checkpoints.keys()]);
  }

  /** Applies the sweep of an agent, which an event records. */
  expire(agentId: string, nowMs: number): void {
    this.#known(agentId).data.sweep(nowMs);
  }

  /** Applies an operation at its place in the log. Returns what its result must be. */
  take(asked: Asked, event: SeenEvent, nowMs: number): Taken {
    if ("event" in asked) return only({ agentId: null, result: "ok", details: asked.event.details });
    const { name, input } = asked.request;
    const denied = this.#denied(name, input);
    if (denied !== null) return only({ agentId: denied, result: "denied" });
    if ("parts" in input) return this.#batch(input, nowMs);
    const rule = RULES[name];
    if (rule === undefined) throw new Error(`the model does not know ${name}`);
    return only(rule.call(this, input as never, { event, nowMs, scope: asked.request.principal.scope }));
  }

  /** Applies all parts to a copy of the agent, which replaces the agent unless the batch is refused. */
  #batch({ agentId, atomic, parts }: OperationInputs["data.batch"], nowMs: number): Taken {
    const trial = new ModelWorkspace();
    const before = this.agents.get(agentId);
    if (before !== undefined) trial.agents.set(agentId, { ...before, data: before.data.copy() });
    const done = parts.map((part) => trial.#part(part, nowMs));
    const refused = done.filter(({ result }) => result === "blocked" || result === "conflict");
    const applied = !atomic || refused.length === 0;
    const events = applied ? done : refused;
    const after = trial.agents.get(agentId);
    if (applied && after !== undefined) this.agents.set(agentId, after);
    // A refused part names an agent that another part of the batch began.
    else if (events.some((event) => event.agentId !== null)) this.#known(agentId);
    const results = done.map((one) => (events.includes(one) ? one.body : { skipped: true }));
    const replied = applied ? "ok" : (refused[0] as Expected).result;
    return { events, replied, body: { applied }, results };
  }

  #part({ name, input }: PartRequest<PartOf<"data.batch">>, nowMs: number): Expected {
    const { agentId, key } = input;
    const value = this.agents.get(agentId)?.data.read(key, nowMs);
    const circumstances = { nowMs } as Circumstances;
    if (name === "data.read") {
      const read = this.read(input, circumstances);
      return { ...read, body: read.result === "ok" ? { found: true, ...read.body } : { found: false, key } };
    }
    const { condition } = input;
    if (condition !== undefined && "exists" in condition && condition.exists !== (value !== undefined))
      return { agentId: this.#orNull(agentId), result: "conflict", body: { conflict: true } };
    if (name === "data.write") return this.write(input, circumstances);
    const deleted = this.delete(input, circumstances);
    return { ...deleted, body: { deleted: deleted.result === "ok" ? 1 : 0 } };
  }

  #denied(name: OperationName, input: OperationInputs[OperationName]): string | null {
    if (!name.startsWith("data.") && !name.startsWith("checkpoint.")) return null;
    const id = "agentId" in input ? (input.agentId ?? undefined) : undefined;
    const owner = "checkpointId" in input ? this.#ownerOf(input.checkpointId) : undefined;
    const [agentId, agent] = owner ?? [id, id === undefined ? undefined : this.agents.get(id)];
    return agentId !== undefined && agent?.suspended === true ? agentId : null;
  }

  #known(agentId: string): Agent {
    const known = this.agents.get(agentId);
    if (known !== undefined) return known;
    const agent: Agent = { data: new ModelAgent(), configs: [], suspended: false, checkpoints: new Map() };
    this.agents.set(agentId, agent);
    return agent;
  }

  write(input: OperationInputs["data.write"], { nowMs }: Circumstances): Expected {
    if (!("value" in input)) throw new Error("no step of the simulation reverts");
    const { agentId, key, value, expiry, condition } = input;
    if (!meets(condition, this.#presentUnder(agentId, key, nowMs)))
      return { agentId: this.#orNull(agentId), result: "conflict" };
    const agent = this.#known(agentId);
    const blockedBy = blockedByPolicy(inForce(agent), value);
    if (blockedBy !== null) return { agentId, result: "blocked", body: { allowed: false, blocked_by: blockedBy } };
    const expiresAt = expiry === undefined ? null : "atMs" in expiry ? expiry.atMs : nowMs + expiry.afterMs;
    agent.data.write(key, value, nowMs, expiresAt);
    return { agentId, result: "allowed", details: { key }, body: { allowed: true } };
  }

  read({ agentId, key }: OperationInputs["data.read"], { nowMs }: Circumstances): Expected {
    const value = this.agents.get(agentId)?.data.read(key, nowMs);
    if (value === undefined) return { agentId: this.#orNull(agentId), result: "not_found" };
    return { agentId, result: "ok", body: { key, value } };
  }

  delete({ agentId, key, condition }: OperationInputs["data.delete"], { nowMs }: Circumstances): Expected {
    if (!meets(condition, this.#presentUnder(agentId, key, nowMs)))
      return { agentId: this.#orNull(agentId), result: "conflict" };
    const gone = this.agents.get(agentId)?.data.delete((one) => one === key, nowMs) ?? 0;
    return { agentId: this.#orNull(agentId), result: gone === 1 ? "ok" : "not_found" };
  }

  deletePrefix({ agentId, prefix }: OperationInputs["data.delete_prefix"], { nowMs }: Circumstances): Expected {
    const count = this.agents.get(agentId)?.data.delete((key) => key.startsWith(prefix), nowMs) ?? 0;
    if (count === 0) return { agentId: this.#orNull(agentId), result: "not_found", body: { deleted: 0 } };
    return { agentId, result: "ok", details: { count }, body: { deleted: count } };
  }

  erase(input: OperationInputs["data.erase"], { event }: Circumstances): Expected {
    const { agentId } = input;
    const isWanted =
      "key" in input ? (key: string) => key === input.key : (key: string) => key.startsWith(input.prefix);
    const agent = this.agents.get(agentId);
    const held = agent?.data.holds(isWanted) ?? false;
    const entries = agent?.data.erase(isWanted) ?? 0;
    // The key may be in details of the log alone; only the event says whether it was.
    if ("key" in input && !held && event.result === "not_found")
      return { agentId: this.#orNull(agentId), result: "not_found" };
    return { agentId: this.#orNull(agentId), result: "ok", details: { entries }, body: { deleted: entries } };
  }

  configure({ agentId, config, condition }: OperationInputs["config.update"], { nowMs }: Circumstances): Expected {
    const known = this.agents.get(agentId);
    const version = known?.configs.length ?? 0;
    if (!meets(condition, version === 0 ? null : `v${version}`))
      return { agentId: this.#orNull(agentId), result: "conflict" };
    return this.#addConfig(agentId, canonicalJson(config), nowMs);
  }

  rollback({ agentId, version }: OperationInputs["config.rollback"], { nowMs }: Circumstances): Expected {
    const old = this.agents.get(agentId)?.configs[Number(version.slice(1)) - 1];
    if (old === undefined) return { agentId: this.#orNull(agentId), result: "not_found" };
    return this.#addConfig(agentId, old.text, nowMs);
  }

  #addConfig(agentId: string, text: string, nowMs: number): Expected {
    const agent = this.#known(agentId);
    requireSwept(agent, nowMs);
    agent.configs.push({ text, policies: policiesOf(text) });
    const { retention_days: retention, history_days: days } = inForce(agent);
    agent.data.configure(retention ?? null, days ?? DEFAULT_HISTORY);
    const version = `v${agent.configs.length}`;
    return { agentId, result: "ok", details: { version }, body: { version } };
  }

  checkpoint({ agentId, label }: OperationInputs["checkpoint.create"], { event, nowMs }: Circumstances): Expected {
    const agent = this.#known(agentId);
    const id = event.details?.checkpoint_id as string;
    agent.checkpoints.set(id, agent.configs.length);
    const entry_count = agent.data.checkpoint(id, nowMs);
    return { agentId, result: "ok", details: { entry_count, label, as_of_seq: event.seq }, body: { id, entry_count } };
  }

  deleteCheckpoint({ checkpointId }: OperationInputs["checkpoint.delete"]): Expected {
    const owner = this.#ownerOf(checkpointId);
    if (owner === undefined) return { agentId: null, result: "not_found" };
    const [agentId, agent] = owner;
    agent.checkpoints.delete(checkpointId);
    agent.data.deleteCheckpoint(checkpointId);
    return { agentId, result: "ok" };
  }

  restore(input: OperationInputs["checkpoint.restore"], { event, nowMs, scope }: Circumstances): Expected {
    const owner = this.#ownerOf(input.checkpointId);
    if (owner === undefined) return { agentId: null, result: "not_found" };
    const [agentId, agent] = owner;
    requireSwept(agent, nowMs);
    const from = agent.checkpoints.get(input.checkpointId) as number;
    const wanted = input.restoreConfig && scope !== "agent" ? agent.configs[from - 1] : undefined;
    const isNew = wanted !== undefined && wanted.text !== agent.configs.at(-1)?.text;
    const policies = isNew ? wanted.policies : inForce(agent);
    const back = agent.data.comingBack(input.checkpointId, policies.retention_days ?? null, nowMs);
    if (input.restoreData && back.some((value) => blockedByPolicy(policies, value) !== null))
      return { agentId, result: "blocked" };
    const safetyId = event.details?.safety_checkpoint_id as string;
    agent.checkpoints.set(safetyId, agent.configs.length);
    const parts = { config: isNew, data: input.restoreData };
    const counts = { ...agent.data.restore(input.checkpointId, parts, safetyId, nowMs) };
    if (isNew) agent.configs.push(wanted);
    const details = {
      ...counts,
      ...(isNew ? { config_version: `v${agent.configs.length}`, rolled_back_from: `v${from}` } : {}),
    };
    return { agentId, result: "ok", details, body: counts };
  }

  turn(agentId: string, suspended: boolean): Expected {
    const agent = this.agents.get(agentId);
    if (agent === undefined) return { agentId: null, result: "not_found" };
    const before = agent.suspended ? "suspended" : "active";
    agent.suspended = suspended;
    return {
      agentId,
      result: "ok",
      details: { state_before: before },
      body: { state: suspended ? "suspended" : "active" },
    };
  }

  /** Returns a stand-in for the version of an entry; null when there is no entry. */
  #presentUnder(agentId: string, key: string, nowMs: number): string | null {
    return this.agents.get(agentId)?.data.read(key, nowMs) === undefined ? null : "";
  }

  #orNull(agentId: string): string | null {
    return this.agents.has(agentId) ? agentId : null;
  }
}

interface Circumstances {
  event: SeenEvent;
  nowMs: number;
  scope: string;
}

type Rule = (this: ModelWorkspace, input: never, circumstances: Circumstances) => Expected;

const { prototype: model } = ModelWorkspace;
const RULES: { [N in OperationName]?: Rule } = {
  "data.write": model.write,
  "data.read": model.read,
  "data.delete": model.delete,
  "data.delete_prefix": model.deletePrefix,
  "data.erase": model.erase,
  "config.update": model.configure,
  "config.rollback": model.rollback,
  "checkpoint.create": model.checkpoint,
  "checkpoint.delete": model.deleteCheckpoint,
  "checkpoint.restore": model.restore,
  "agent.suspend": function ({ agentId }: OperationInputs["agent.suspend"]) {
    return this.turn(agentId, true);
  },
  "agent.resume": function ({ agentId }: OperationInputs["agent.resume"]) {
    return this.turn(agentId, false);
  },
  "audit.export": () => ({ agentId: null, result: "ok" }),
};

const policiesOf = (text: string): Policies => (JSON.parse(text) as { policies?: Policies }).policies ?? {};
const inForce = ({ configs }: Agent): Policies => configs.at(-1)?.policies ?? {};

function blockedByPolicy(policies: Policies, value: string): string | null {
  if (policies.block_secrets === true && isSecret(value)) return "policy:block_secrets";
  return policies.block_pii === true && isPii(value) ? "policy:block_pii" : null;
}

function meets(condition: VersionCondition | undefined, current: string | null): boolean {
  if (condition === undefined) return true;
  if ("versions" in condition) return condition.versions.some((version) => version === current);
  return condition.exists ? current !== null : current === null;
}

/** Checks that expired entries were removed before another configuration takes effect. */
function requireSwept({ data }: Agent, nowMs: number): void {
  if (data.hasExpired(nowMs)) throw new Error("expired entries were not removed before the configuration changed");
}
