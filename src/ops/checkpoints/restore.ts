/**
 * Restores a checkpoint: replaces the agent's data by the checkpoint's, makes a new config version with the
 * checkpoint's content, and makes a checkpoint of the previous state, so that the restore can be undone.
 */

import { AgentDirectory, type AgentState } from "../../core/rows/agents.ts";
import { type Checkpoint, findCheckpoint } from "../../core/rows/checkpoints.ts";
import { configFacts, type NewConfig, readConfigVersion, showVersion } from "../../core/rows/configs.ts";
import { planRestore, type RestorePlan } from "../../core/rows/restore.ts";
import { type Bar, barOfEntries, barWithoutConfig } from "../../core/writer/admission.ts";
import { findingsIn, reportedOf } from "../../core/writer/decided.ts";
import {
  answered,
  type Context,
  type Look,
  type Outcome,
  type ProblemAnswer,
  type Run,
  refusedByPolicy,
} from "../../core/writer/operation.ts";
import type { JsonObject } from "../../json.ts";
import type { Allowed } from "../../screen/decide.ts";
import { type PolicySettings, policiesOf, stricterPolicies } from "../../screen/policies.ts";
import { freshAt } from "../../screen/retention.ts";
import { effectivePolicies } from "../../screen/workspace-policies.ts";
import type { Reader } from "../../store/transaction.ts";
import { nextTurn } from "../../timer.ts";
import { type AllowedCheckpoint, countHeld, countPresent, findAllowed, noCheckpoint } from "./checkpoint.ts";
import {
  ALLOWED,
  decideAboutEntries,
  decideAboutLargeEntries,
  type LargeEntries,
  type RefusedEntry,
  refusedBy,
} from "./entries.ts";

const restore: Run<"checkpoint.restore", LargeEntries | null> = async (reader, context, input, large) => {
  const found = await findAllowed(reader, context, input.checkpointId);
  if (found === null) return noCheckpoint(context, input.checkpointId);
  const { checkpoint, agent } = found;
  const { newConfig, policies, plan } = await planOf(reader, context, found, input);
  const decision =
    plan === null ? ALLOWED : await decideAboutRestore(reader, context, agent, plan, policies, large ?? undefined);
  if (!decision.allowed) return refusedRestore(agent, checkpoint, decision);
  const present = { held: await countHeld(reader, agent, context), seen: await countPresent(reader, agent, context) };
  const salted = newConfig && { ...newConfig, salt: context.newSalt() };
  return restored(context, found, salted, plan, present, decision);
};

/** Decides about the large entries on another thread, as the restore would if nothing changed until then. */
const look: Look<"checkpoint.restore", LargeEntries | null> = async (
  reader,
  { nowMs, seesSetAside, principal },
  input,
) => {
  const checkpoint = await findCheckpoint(reader, input.checkpointId, principal.agents);
  if (checkpoint === undefined) return null;
  const agent = await new AgentDirectory(reader).findByFirstSeq(checkpoint.agent);
  const moment = { nowMs, seesSetAside, principal, pause: nextTurn };
  const { plan, policies } = await planOf(reader, moment, { checkpoint, agent }, input);
  if (plan === null) return null;
  return decideAboutLargeEntries(reader, plan.comeBack, policies, nowMs);
};

export const restoreCheckpoint = { look, run: restore };

type Unsalted = Omit<NewConfig, "salt">;

interface Planned {
  /** The new config version; null when the config does not change. */
  newConfig: Unsalted | null;
  /** The policies that will be in force. */
  policies: PolicySettings;
  /** What changes in the data; null when the data is not restored. */
  plan: RestorePlan | null;
}

/** Plans a restore under the policies that are in force now. */
async function planOf(
  reader: Reader,
  { principal, pause, ...viewer }: Pick<Context, "nowMs" | "seesSetAside" | "principal" | "pause">,
  { checkpoint, agent }: Pick<AllowedCheckpoint, "checkpoint" | "agent">,
  { restoreConfig, restoreData }: { restoreConfig: boolean; restoreData: boolean },
): Promise<Planned> {
  // A key of scope `agent` may not change the configuration. It restores only the data.
  const wantsConfig = restoreConfig && principal.scope !== "agent";
  const newConfig = wantsConfig ? await configToRestore(reader, agent, checkpoint) : null;
  const policies =
    newConfig === null
      ? agent.policies
      : effectivePolicies(agent.workspacePolicies, policiesOf(JSON.parse(newConfig.config) as JsonObject));
  // An entry that has expired under the present or the restored policies is not restored.
  const fresh = freshAt(stricterPolicies(agent.policies, policies), viewer);
  const plan = restoreData ? await planRestore(reader, agent, checkpoint.asOfSeq, fresh, { pause }) : null;
  return { newConfig, policies, plan };
}

/** Returns the new config version; null when the checkpoint has no config, or its content is already in force. */
async function configToRestore(reader: Reader, agent: AgentState, checkpoint: Checkpoint): Promise<Unsalted | null> {
  const from = checkpoint.configVersion;
  if (from === null || agent.configVersion === null) return null;
  const wanted = await readConfigVersion(reader, agent.firstSeq, from);
  const current = await readConfigVersion(reader, agent.firstSeq, agent.configVersion);
  if (wanted.config === current.config) return null;
  return { version: agent.configVersion + 1, config: wanted.config, rolledBackFrom: from };
}

/**
 * Returns the outcome of a refused restore. The answer names the refused entry; the log has the findings without the
 * key.
 */
function refusedRestore(
  agent: AgentState,
  { id }: Checkpoint,
  { key, ...refusal }: RefusedEntry,
): Outcome<ProblemAnswer> {
  const outcome = refusedByPolicy(agent, refusal, "restore_blocked", { checkpoint_id: id });
  if (key !== null) outcome.answer.extra = { ...outcome.answer.extra, key };
  return outcome;
}

/** Decides whether the entries of a plan may be restored under these policies. */
async function decideAboutRestore(
  reader: Reader,
  context: Context,
  agent: AgentState,
  plan: RestorePlan,
  policies: PolicySettings,
  large: LargeEntries | undefined,
): Promise<Allowed | RefusedEntry> {
  if (plan.comeBack.length === 0) return ALLOWED;
  const bar = barOfPlan(agent, plan, policies);
  if (bar !== null) return refusedBy(bar);
  return decideAboutEntries(reader, context, plan.comeBack, policies, barWithoutConfig(agent), large);
}

/** Returns the reason to refuse a plan that would exceed the limit of entries; null when it would not. */
function barOfPlan({ liveEntries }: AgentState, plan: RestorePlan, { limits }: PolicySettings): Bar | null {
  const most = limits?.entries;
  const more = plan.comeBack.length - plan.end.length;
  return most === undefined || more <= 0 || liveEntries + more <= most ? null : barOfEntries(most);
}

function restored(
  context: Context,
  { agent, checkpoint }: AllowedCheckpoint,
  newConfig: NewConfig | null,
  plan: RestorePlan | null,
  /** The present entries: all, and those that exist for who restores. */
  present: { held: number; seen: number },
  decision: Allowed,
): Outcome {
  const safety = { id: context.ids.next("cp"), entryCount: present.held };
  const config = newConfig === null ? null : configFacts(newConfig);
  const counts = {
    entries_restored: plan?.comeBack.length ?? 0,
    entries_removed: plan?.removed ?? 0,
    entries_unchanged: plan?.unchanged ?? present.seen,
  };
  const details: JsonObject = {
    checkpoint_id: checkpoint.id,
    safety_checkpoint_id: safety.id,
    safety_entry_count: present.held,
    ...counts,
    ...reportedOf(decision),
  };
  if (config !== null) {
    details.config_version = config.version;
    details.config_digest = config.digest;
    details.rolled_back_from = config.rolledBackFrom;
  }
  const body = {
    checkpoint_id: checkpoint.id,
    agent_id: checkpoint.agentId,
    config_version: config?.version ?? showVersion(agent.configVersion),
    ...counts,
    safety_checkpoint_id: safety.id,
    audit_id: context.auditId,
    ...findingsIn(decision),
  };
  return answered(agent, details, JSON.stringify(body), {
    effect: {
      kind: "restore",
      checkpointId: checkpoint.id,
      safety,
      config,
      restored: counts.entries_restored,
      removed: counts.entries_removed,
      newConfig,
      plan,
    },
  });
}
