/**
 * Restoring a checkpoint: the agent's data becomes the checkpoint's, its configuration a new version
 * with the checkpoint's content, and a checkpoint of the state before makes it possible to undo.
 */
import type { JsonObject } from "../../json.ts";
import { sha256Hex } from "../../log/hash.ts";
import { type Decision, decide } from "../../policy/decide.ts";
import type { AgentChange, AgentState } from "../../state/agents.ts";
import { type Checkpoint, insertCheckpoint } from "../../state/checkpoints.ts";
import {
  type EnforcedPolicies,
  findConfig,
  insertConfig,
  policiesOf,
  retentionCutoff,
  showVersion,
} from "../../state/configs.ts";
import { planRestore, type RestorePlan, readVersion, restoreEntries } from "../../state/restore.ts";
import type { Reader, Transaction } from "../../store/transaction.ts";
import { answered, type Context, type Operation, type Outcome } from "../../workspace/operation.ts";
import { countPresent, findAllowed, noCheckpoint } from "./operations.ts";

/** The configuration that a restore makes a new version of. */
interface NewConfig {
  version: number;
  config: string;
  from: number;
}

export const restoreCheckpoint: Operation<"checkpoint.restore"> = async (tx, context, input) => {
  const found = await findAllowed(tx, context, input.checkpointId);
  if (found === null) return noCheckpoint(input.checkpointId);
  const { checkpoint, agent, agentId } = found;
  // A key of scope `agent` may not change the configuration: with it only the data come back.
  const wantsConfig = input.restoreConfig && context.principal.scope !== "agent";
  const config = wantsConfig ? await configToRestore(tx, agent, checkpoint) : null;
  const policies = config === null ? agent.policies : policiesOf(JSON.parse(config.config) as JsonObject);
  // What is past its retention now, or will be afterwards, stays gone.
  const cutoffMs = Math.max(
    retentionCutoff(agent.policies, context.nowMs),
    retentionCutoff(policies, context.nowMs),
  );
  const plan = input.restoreData ? await planRestore(tx, agent, checkpoint.asOfSeq, cutoffMs) : null;
  const refused = plan === null ? null : await screen(tx, plan, policies);
  if (refused !== null) return blocked(agent, checkpoint, refused);
  return carryOut(tx, context, { agent, agentId, checkpoint, config, policies, plan });
};

/** The checkpoint's configuration, unless it had none or has the content that is in force already. */
async function configToRestore(
  tx: Reader,
  agent: AgentState,
  checkpoint: Checkpoint,
): Promise<NewConfig | null> {
  const from = checkpoint.configVersion;
  if (from === null || agent.configVersion === null) return null;
  const wanted = await findConfig(tx, agent.firstSeq, from);
  const current = await findConfig(tx, agent.firstSeq, agent.configVersion);
  if (wanted === undefined || current === undefined) throw new Error("a configuration version is not stored");
  if (wanted.config === current.config) return null;
  return { version: agent.configVersion + 1, config: wanted.config, from };
}

type Refused = Extract<Decision, { allowed: false }>;

/** The first entry that may not come back under these policies, if there is one. */
async function screen(tx: Reader, plan: RestorePlan, policies: EnforcedPolicies): Promise<Refused | null> {
  if (!policies.blockPii && !policies.blockSecrets) return null;
  for (const id of plan.comeBack) {
    const decision = decide(policies, await readVersion(tx, id));
    if (!decision.allowed) return decision;
  }
  return null;
}

function blocked(agent: AgentState, checkpoint: Checkpoint, decision: Refused): Outcome {
  const findings = decision.findings as unknown as JsonObject[];
  return {
    agent,
    result: "blocked",
    blockedBy: decision.blockedBy,
    details: { checkpoint_id: checkpoint.id, findings },
    answer: {
      kind: "problem",
      code: "restore_blocked",
      detail: `An entry of the checkpoint is refused by the policies that would be in force: ${decision.message} Nothing was restored.`,
      extra: { blocked_by: decision.blockedBy, findings },
    },
  };
}

interface Decided {
  agent: AgentState;
  agentId: string;
  checkpoint: Checkpoint;
  config: NewConfig | null;
  policies: EnforcedPolicies;
  plan: RestorePlan | null;
}

async function carryOut(tx: Transaction, context: Context, decided: Decided): Promise<Outcome> {
  const { agent, agentId, checkpoint, config, policies, plan } = decided;
  const present = await countPresent(tx, agent, context.nowMs);
  const safetyId = await makeSafetyCheckpoint(tx, context, agent, present);
  const change: { -readonly [M in keyof AgentChange]: AgentChange[M] } = {
    newestCheckpoint: context.seq - 1,
  };
  if (config !== null) {
    await insertConfig(tx, {
      agent: agent.firstSeq,
      version: config.version,
      config: config.config,
      createdSeq: context.seq,
      rolledBackFrom: config.from,
    });
    change.configVersion = config.version;
    change.policies = policies;
  }
  if (plan !== null) {
    await restoreEntries(tx, plan, context);
    change.liveEntries = agent.liveEntries - plan.end.length + plan.comeBack.length;
  }
  const counts = {
    entries_restored: plan?.comeBack.length ?? 0,
    entries_removed: plan?.removed ?? 0,
    entries_unchanged: plan?.unchanged ?? present,
  };
  const details: JsonObject = {
    checkpoint_id: checkpoint.id,
    safety_checkpoint_id: safetyId,
    safety_entry_count: present,
    ...counts,
  };
  if (config !== null) {
    details.config_version = `v${config.version}`;
    details.config_digest = sha256Hex(config.config);
    details.rolled_back_from = `v${config.from}`;
  }
  const body = {
    checkpoint_id: checkpoint.id,
    agent_id: agentId,
    config_version: showVersion(config?.version ?? agent.configVersion),
    ...counts,
    safety_checkpoint_id: safetyId,
    audit_id: context.auditId,
  };
  return answered(agent, details, JSON.stringify(body), { change });
}

/** A checkpoint of the position before this one, so that the restore can itself be undone. */
async function makeSafetyCheckpoint(
  tx: Transaction,
  context: Context,
  agent: AgentState,
  entryCount: number,
): Promise<string> {
  const id = context.ids.next("cp");
  await insertCheckpoint(tx, agent, {
    id,
    asOfSeq: context.seq - 1,
    eventSeq: context.seq,
    entryCount,
    label: null,
    metadata: "{}",
  });
  return id;
}
