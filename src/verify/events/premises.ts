/**
 * What operations need before them and leave behind, as far as the events themselves tell: the versions in force, the
 * checkpoints that exist, and whether an agent is suspended. Keys of entries are followed by the replay (rows/expected).
 *
 * What is not known, since events before are not there, is learned from the first event that states it. A segment of a
 * log gives what it learned, and what it could not decide, to the verifier that joins the segments.
 */
import { dependsOnPolicies } from "../../details.ts";
import { positionOf } from "../../ids.ts";
import type { JsonObject, JsonValue } from "../../json.ts";
import { effectKind } from "../../log/effects.ts";
import { type AuditEventBody, formProblem, formsIn, type OfInstallation, SYSTEM } from "../../log/event.ts";
import { isOfPresent, isRecallPossible } from "../../log/recall.ts";
import type { Needs } from "../../operation-facts.ts";
import { eventFacts, STATE_ROOT } from "../../operations.ts";
import type { Finding } from "../problems.ts";

/** A fact that events state and change. Undefined: not known. */
class Fact<T> {
  now: T | undefined;
  /** What the first event that stated it said, if it was not known before. */
  learned: T | undefined;

  constructor(now: T | undefined) {
    this.now = now;
  }

  /** Whether the fact is what an event states. */
  is(stated: T): boolean {
    if (this.now === undefined) {
      this.learned = stated;
      this.now = stated;
    }
    const fits = this.now === stated;
    // The next event continues this one, so that one wrong event is found once.
    this.now = stated;
    return fits;
  }

  /** Appends the same fact of the next segment. Whether that learned what is the case here. */
  append({ now, learned }: Pick<Fact<T>, "now" | "learned">): boolean {
    const fits = learned === undefined || this.is(learned);
    if (now !== undefined) this.now = now;
    return fits;
  }
}

/** What is done to a checkpoint. */
type CheckpointAct = readonly [does: "makes" | "needs" | "ends", id: string];

/** What is known of an agent, or of the workspace itself. */
interface AgentPremises {
  /** The number of the config in force; 0 for none. In the workspace's own chain, of its policies. */
  config: Fact<number>;
  suspended: Fact<boolean>;
  /** The checkpoints that exist; null when earlier events are not there. */
  checkpoints: Set<string> | null;
  /** Acts on checkpoints that were not decided, since earlier events are not there. */
  acts: CheckpointAct[];
}

/** {@link Premises} as plain data. */
export interface PlainPremises {
  policies: Pick<Fact<number>, "now" | "learned">;
  ofInstallation: Pick<Fact<boolean>, "now" | "learned">;
  agents: [agentId: string | null, PlainAgent][];
}

interface PlainAgent {
  config: Pick<Fact<number>, "now" | "learned">;
  suspended: Pick<Fact<boolean>, "now" | "learned">;
  checkpoints: ReadonlySet<string> | null;
  acts: readonly CheckpointAct[];
}

const impossible = (message: string): Finding => ({ code: "operation_impossible", message });

export class Premises {
  /** The number of the workspace's policies in force; 0 for none. */
  readonly policies = new Fact<number>(undefined);
  readonly #ofInstallation = new Fact<boolean>(undefined);
  readonly #agents = new Map<string | null, AgentPremises>();

  /** @param single whether only one agent's chain is fed, which does not show the workspace's policies */
  constructor(private readonly single: boolean) {}

  /** Whether the log is that of the installation; null when it is not known. */
  get ofInstallation(): OfInstallation {
    return this.#ofInstallation.now ?? null;
  }

  /** Takes the next event. Returns what is wrong with it. @param details null when they are erased or not genuine */
  take(event: AuditEventBody, details: JsonObject | null): Finding | null {
    if (event.seq === 0) {
      this.#ofInstallation.now = event.actor === SYSTEM;
      this.policies.now = 0;
    }
    const agent = this.#agentOf(event);
    const form = formProblem(event, details, event.agent_id === null ? this.ofInstallation : null);
    const found = form ?? this.#placeProblem(event) ?? this.#versionProblem(event, details, agent);
    // State follows the event in any case, so that one wrong event is not found again in the next.
    const inState = this.#follow(event, details, agent);
    return found ?? inState;
  }

  /** Appends what the next segment learned. Returns what is wrong. */
  append({ policies, ofInstallation, agents }: PlainPremises): Finding | null {
    let fits = this.#ofInstallation.append(ofInstallation) && this.policies.append(policies);
    for (const [agentId, next] of agents) {
      const agent = this.#agents.getOrInsertComputed(agentId, unknownAgent);
      if (!agent.config.append(next.config)) fits = false;
      if (!agent.suspended.append(next.suspended)) fits = false;
      if (next.checkpoints !== null) agent.checkpoints = new Set(next.checkpoints);
      for (const act of next.acts) if (!actOn(agent, act)) fits = false;
    }
    return fits ? null : impossible("an operation needs what the events before do not leave");
  }

  toPlain(): PlainPremises {
    const plain = <T>({ now, learned }: Fact<T>) => ({ now, learned });
    const agents = Array.from(
      this.#agents,
      ([agentId, { config, suspended, checkpoints, acts }]): [string | null, PlainAgent] => [
        agentId,
        { config: plain(config), suspended: plain(suspended), checkpoints, acts },
      ],
    );
    return { policies: plain(this.policies), ofInstallation: plain(this.#ofInstallation), agents };
  }

  #agentOf({ agent_id: agentId, agent_seq }: AuditEventBody): AgentPremises {
    const known = this.#agents.get(agentId);
    if (known !== undefined) return known;
    const made = agent_seq === 1 ? newAgent() : unknownAgent();
    this.#agents.set(agentId, made);
    return made;
  }

  /** The log of the installation has no agents. In a segment, the log's own operations tell whose log it is. */
  #placeProblem(event: AuditEventBody): Finding | null {
    const only = event.agent_id === null ? onlyChainOf(event) : "workspace";
    if (only !== "workspace" && only !== "installation") return null;
    if (this.#ofInstallation.is(only === "installation")) return null;
    return { code: "chain_impossible", message: "the log of the installation has no agents" };
  }

  #versionProblem(event: AuditEventBody, details: JsonObject | null, { config }: AgentPremises): Finding | null {
    const inForce = numberOf(event.config_version);
    if (!config.is(inForce)) return impossible("config_version is not the version in force before the event");
    if (details === null) return null;
    if (!isRecallPossible(details, event.seq)) return impossible("what the operation returned cannot be so");
    if (!this.single && !this.#statesPolicies(event, details)) {
      return impossible("policies_version is not the version in force before the event");
    }
    if (event.operation === STATE_ROOT && (details.seq as number) >= event.seq)
      return impossible("the state that the operation names is not from before it");
    // About an agent without events, which has no config.
    if (Object.hasOwn(details, "agent_id")) return null;
    return isPossibleVersion(event, details, inForce)
      ? null
      : impossible("the operation names a version or a position that there is not");
  }

  #statesPolicies(event: AuditEventBody, details: JsonObject): boolean {
    const stated = numberOf(details.policies_version);
    return dependsOnPolicies(details, event.agent_id) ? this.policies.is(stated) : stated === 0;
  }

  #follow(event: AuditEventBody, details: JsonObject | null, agent: AgentPremises): Finding | null {
    const { operation, result, agent_id: agentId } = event;
    const kind = effectKind(operation, result);
    const restoresConfig = kind === "restore" && details?.config_version !== undefined;
    if (kind === "add_config" || restoresConfig) {
      const next = numberOf(event.config_version) + 1;
      agent.config.now = next;
      if (agentId === null) this.policies.now = next;
    }
    const acts = details === null ? [] : actsOf(event, details);
    const missing = acts.filter((act) => !actOn(agent, act)).length > 0;
    if (missing) return impossible("there is no such checkpoint of this agent, or there is one already");
    if (kind !== "suspend" && kind !== "resume") return null;
    const before = details?.state_before;
    const fits = before === undefined || agent.suspended.is(before === "suspended");
    agent.suspended.now = kind === "suspend";
    return fits ? null : impossible("the agent was not in the state that is stated");
  }
}

/** Returns the chain of an event of the log itself, if its operation and result are in one only. */
function onlyChainOf(event: AuditEventBody): string | undefined {
  const chains = new Set(formsIn(event, null).map(({ chain }) => chain));
  return chains.size === 1 ? [...chains][0] : undefined;
}

const newAgent = (): AgentPremises => ({
  config: new Fact(0),
  suspended: new Fact(false),
  checkpoints: new Set(),
  acts: [],
});

const unknownAgent = (): AgentPremises => ({
  config: new Fact<number>(undefined),
  suspended: new Fact<boolean>(undefined),
  checkpoints: null,
  acts: [],
});

/** Returns the number in a version (`v3`, `p3`); 0 for none. */
const numberOf = (version: JsonValue | undefined): number =>
  typeof version === "string" ? Number(version.slice(1)) : 0;

/** Whether the versions and the position that an operation names were there, and follow each other. */
function isPossibleVersion(event: AuditEventBody, details: JsonObject, inForce: number): boolean {
  const { operation, result, seq } = event;
  const { version, config_version: restored, rolled_back_from: from, as_of_seq: asOf } = details;
  const isThere = (named: JsonValue | undefined) => numberOf(named) <= inForce;
  const isNext = (named: JsonValue | undefined) => numberOf(named) === inForce + 1;
  switch (effectKind(operation, result)) {
    case "add_config":
      return isNext(version) && isThere(from);
    case "restore":
      return restored === undefined || (isNext(restored) && isThere(from));
    case "add_checkpoint":
      return asOf === seq;
    case "put":
      return details.reverted_from === undefined || (positionOf(String(details.reverted_from)) ?? seq) < seq;
  }
  const needs = needsOf(operation);
  if (needs === "config" && !isOfPresent(details)) return isThere(version);
  if (needs === "config")
    return result === "ok" ? numberOf(version) === inForce : result !== "not_found" || inForce === 0;
  if (needs !== "version" || (result !== "ok" && result !== "not_found")) return true;
  return isThere(version) === (result === "ok") || numberOf(version) === 0;
}

/** Returns what an event does to checkpoints of its agent. */
function actsOf({ operation, result }: AuditEventBody, details: JsonObject): CheckpointAct[] {
  const { checkpoint_id: id, to, safety_checkpoint_id: safety } = details;
  const named = [id, to].filter((one) => typeof one === "string");
  const kind = effectKind(operation, result);
  if (kind === "add_checkpoint") return named.map((one) => ["makes", one]);
  if (result !== "ok" || needsOf(operation) !== "checkpoint") return [];
  const does = kind === "remove_checkpoint" ? "ends" : "needs";
  return [
    ...named.map((one) => [does, one] as const),
    ...(typeof safety === "string" ? [["makes", safety] as const] : []),
  ];
}

/** Applies what is done to a checkpoint. Whether that was possible, as far as is known. */
function actOn({ checkpoints, acts }: AgentPremises, act: CheckpointAct): boolean {
  const [does, id] = act;
  if (checkpoints === null) {
    acts.push(act);
    return true;
  }
  if (does === "makes") return !checkpoints.has(id) && checkpoints.add(id).has(id);
  return does === "ends" ? checkpoints.delete(id) : checkpoints.has(id);
}

const needsOf = (operation: string): Needs => eventFacts(operation)?.needs ?? "nothing";
