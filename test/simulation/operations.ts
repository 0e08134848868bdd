/** Random operations, on few keys and agents so that they collide. */

import type { OperationRequest, Principal } from "../../src/core/writer/contract.ts";
import type { JsonObject } from "../../src/json.ts";
import { sha256Hex } from "../../src/log/hash.ts";
import type { VersionCondition } from "../../src/operation-facts.ts";
import type { OperationInputs, OperationName, PartOf, PartRequest } from "../../src/operations.ts";
import type { Seeded } from "../seeded.ts";
import { exampleDetails } from "../support/event-examples.ts";
import type { Asked, ModelWorkspace } from "./model.ts";

export interface Policies {
  block_pii?: boolean;
  block_secrets?: boolean;
  retention_days?: number;
  history_days?: number;
}

const AGENTS = ["a", "b", "agent-3"];
/** Some are prefixes of others. */
const KEYS = ["k", "k/1", "k/2", "m", "\u{10FFFF}", "ключ"];
const PREFIXES = ["k", "k/", "m", "z"];
const PII = "write to jane.doe@gmail.com";
/** Assembled here, so that this repository contains no key. */
const SECRET = `-----BEGIN ${"PRIVATE KEY"}-----\n${"MIIEvQIBADANBgkq".repeat(4)}\n-----END ${"PRIVATE KEY"}-----`;
const VALUES = ["x", "y", "", "zweite Notiz: äöü \u0000 🙂", "long ".repeat(600), PII, SECRET];

export const isPii = (value: string): boolean => value === PII;
export const isSecret = (value: string): boolean => value === SECRET;

const POLICIES: readonly Policies[] = [
  {},
  { retention_days: 1 },
  { retention_days: 3, history_days: 0 },
  { history_days: 1 },
  { block_pii: true },
  { block_secrets: true, retention_days: 2 },
  { block_pii: true, block_secrets: true },
];
const HOUR_MS = 3_600_000;
const NO_CHECKPOINT = "cp_01h455vb4pex5vsknk084sn02q";

type Named = { [N in OperationName]: [N, OperationInputs[N]] }[OperationName];
type BatchPart = PartRequest<PartOf<"data.batch">>;
type Make = (random: Seeded, model: ModelWorkspace) => Named;

const agent = (random: Seeded) => random.pick(AGENTS);
const checkpoint = (random: Seeded, model: ModelWorkspace): string => {
  const { checkpoints } = model;
  return checkpoints.length === 0 || random.chance(0.05) ? NO_CHECKPOINT : random.pick(checkpoints);
};

const randomWrite = (random: Seeded, agentId: string): OperationInputs["data.write"] => {
  const metadata: JsonObject = random.chance(0.3) ? { n: random.below(9), tag: "ü" } : {};
  const expiry = random.chance(0.3) ? { expiry: { afterMs: random.between(1, 72) * HOUR_MS } } : {};
  return { agentId, key: random.pick(KEYS), value: random.pick(VALUES), metadata, ...expiry };
};

function randomBatch(random: Seeded): Named {
  const agentId = agent(random);
  const parts = Array.from({ length: random.between(1, 6) }, (): BatchPart => {
    const { key, ...content } = randomWrite(random, agentId);
    const condition = random.chance(0.15) ? { condition: { exists: random.chance(0.5) } } : {};
    return random.weighted<BatchPart>([
      [4, { name: "data.write", input: { key, ...content, ...condition } }],
      [2, { name: "data.delete", input: { agentId, key, ...condition } }],
      [2, { name: "data.read", input: { agentId, key } }],
    ]);
  });
  return ["data.batch", { agentId, atomic: random.chance(0.6), parts }];
}

const condition = (random: Seeded, versions: string[]): VersionCondition =>
  random.chance(0.5) ? { exists: random.chance(0.5) } : { versions };

/** Returns, now and then, a condition on an entry. */
const maybe = (random: Seeded) => (random.chance(0.8) ? {} : { condition: condition(random, []) });

const OPERATIONS: readonly (readonly [weight: number, Make])[] = [
  [30, (random) => ["data.write", { ...randomWrite(random, agent(random)), ...maybe(random) }]],
  [5, (random) => ["data.read", { agentId: agent(random), key: random.pick(KEYS) }]],
  [6, (random) => ["data.delete", { agentId: agent(random), key: random.pick(KEYS), ...maybe(random) }]],
  [8, randomBatch],
  [3, (random) => ["data.delete_prefix", { agentId: agent(random), prefix: random.pick(PREFIXES) }]],
  [
    2,
    (random) => {
      const agentId = agent(random);
      if (random.chance(0.5)) return ["data.erase", { agentId, key: random.pick(KEYS) }];
      return ["data.erase", { agentId, prefix: random.pick(PREFIXES) }];
    },
  ],
  [
    5,
    (random) => {
      const config = { policies: random.pick(POLICIES) as JsonObject, n: random.below(3) };
      const input = { agentId: agent(random), config };
      if (random.chance(0.7)) return ["config.update", input];
      return ["config.update", { ...input, condition: condition(random, [`v${random.between(1, 4)}`]) }];
    },
  ],
  [2, (random) => ["config.rollback", { agentId: agent(random), version: `v${random.between(1, 4)}` }]],
  [6, (random) => ["checkpoint.create", { agentId: agent(random), label: random.pick([null, "l"]), metadata: {} }]],
  [2, (random, model) => ["checkpoint.delete", { checkpointId: checkpoint(random, model) }]],
  [
    6,
    (random, model) => {
      const restoreConfig = random.chance(0.5);
      const restoreData = !restoreConfig || random.chance(0.7);
      return ["checkpoint.restore", { checkpointId: checkpoint(random, model), restoreConfig, restoreData }];
    },
  ],
  [1, (random) => ["agent.suspend", { agentId: agent(random), reason: null }]],
  [2, (random) => ["agent.resume", { agentId: agent(random), reason: "over" }]],
  [1, () => ["audit.export", { scope: { scope: "workspace" }, format: "ndjson", window: {} }]],
];

/** Returns the event of a new key, by an account that makes no other one. */
export function newKey(actor: string, label: string) {
  const own = { key_id: actor.replace("usr_", "key_"), key_digest: sha256Hex(actor), label };
  return { operation: "key.create", actor, details: { ...exampleDetails("key.create"), ...own } } as const;
}

/** Returns a random operation, or an event to record. The caller gives each its own actor. */
export function randomOperation(random: Seeded, model: ModelWorkspace, workspaceId: string, actor: string): Asked {
  if (random.chance(0.02)) {
    return { event: newKey(actor.replace("wid_", "usr_"), `${random.below(9)}`) };
  }
  const principal: Principal = { actor, workspaceId, scope: random.chance(0.1) ? "agent" : "full", agents: null };
  return { request: requestOf(random.weighted(OPERATIONS)(random, model), principal) };
}

/** Workloads: nothing in the workspace can end them, unlike a key. */
const via = { workload: { issuer: "https://issuer.example", subject: "simulated" } };

const requestOf = ([name, input]: Named, principal: Principal) => ({ name, input, principal, via }) as OperationRequest;

/**
 * A restore of a configuration between two writes of one key. The first write is the newest event that the restore's
 * safety checkpoint sees, so what the second one replaces must be kept. Empty without a checkpoint to restore.
 */
export function writesAroundRestore(random: Seeded, model: ModelWorkspace): ((principal: Principal) => Asked)[] {
  const owned = [...model.agents].flatMap(([agentId, { checkpoints }]) =>
    Array.from(checkpoints.keys(), (checkpointId) => ({ agentId, checkpointId })),
  );
  if (owned.length === 0) return [];
  const { agentId, checkpointId } = random.pick(owned);
  const key = random.pick(KEYS);
  const write = (value: string): Named => ["data.write", { agentId, key, value, metadata: {} }];
  const restore: Named = ["checkpoint.restore", { checkpointId, restoreConfig: true, restoreData: false }];
  return [write("before"), restore, write("after")].map((named) => (principal) => ({
    request: requestOf(named, principal),
  }));
}
