/**
 * Applies effects: no other code changes an agent's stored rows. Operations read, decide and return an effect; the
 * workspace's writer applies it in the transaction that appends the event.
 */
import type { JsonObject } from "../../json.ts";
import type { EffectFacts } from "../../log/effects.ts";
import { canonicalJson } from "../../log/jcs.ts";
import {
  boundDigest,
  type Cells,
  ROW_TABLES,
  type RowChange,
  type RowTable,
  type RowTableName,
} from "../../log/row-effects.ts";
import type { EffectKind } from "../../operation-facts.ts";
import type { Freshness } from "../../screen/retention.ts";
import { workspacePoliciesOf } from "../../screen/workspace-policies.ts";
import { after, type MaybePromise, type Transaction } from "../../store/transaction.ts";
import { type HeadChanges, storeHeads } from "../heads/stored.ts";
import { eraseAccount } from "./access/account-erasure.ts";
import type { AgentChange, AgentState } from "./agents.ts";
import { deleteCheckpoint, insertCheckpoint } from "./checkpoints.ts";
import { insertConfig, type NewConfig } from "./configs.ts";
import { endEntry, endPrefix, type Moment, putEntry } from "./entries.ts";
import { type ErasureTarget, erase, eraseDetails } from "./erasure.ts";
import { removeExpired } from "./expiry.ts";
import { dropHistory } from "./history.ts";
import { prune } from "./log/pruning.ts";
import { type Placed, release, setAside } from "./quarantine/placing.ts";
import { type RestorePlan, restoreEntries } from "./restore.ts";

/** What effects need besides the facts in the event. Texts are canonical JSON. */
interface Contents {
  put: { value: string; metadata: string; salt: string };
  /** `expired`: how many of the versions have expired; the others are history. `live`: how many are present entries. */
  expire: { fresh: Freshness; expired: number; live: number };
  erase: { agentId: string; target: ErasureTarget };
  set_aside: Placed;
  release: Placed;
  add_config: { content: NewConfig };
  /** Null when the config, or the data, does not change. */
  restore: { newConfig: NewConfig | null; plan: RestorePlan | null };
  heads: { changes: HeadChanges };
  rows: { changes: readonly RowChange[]; contents: BoundContents };
}

/** The bound columns of the row of a table that an event changes, with their salt. */
export type BoundContents = Partial<Readonly<Record<RowTableName, Cells>>>;

/** An effect of one kind, with its contents. */
type EffectOf<K extends EffectKind> = { kind: K } & EffectFacts[K] & (K extends keyof Contents ? Contents[K] : unknown);

/** A change of stored rows, with the contents. */
export type Effect = { [K in EffectKind]: EffectOf<K> }[EffectKind] | { kind: "none" };

/** The effect of an operation that changes no rows. */
export const NO_EFFECT: Effect = { kind: "none" };

/**
 * Applies an effect to the rows of `agent`, at the position of its event. Returns the change of the agent's cached
 * state.
 * @throws when a count in the effect is not the number of changed rows, since the event would be false
 */
export function applyEffect(
  tx: Transaction,
  agent: AgentState,
  effect: Effect,
  moment: Moment,
): MaybePromise<AgentChange | undefined> {
  if (effect.kind === "none") return undefined;
  if (effect.kind !== "put") return applyOther(tx, agent, effect, moment);
  const { liveEntries } = agent;
  const grown = putEntry(tx, agent, effect, moment);
  const changeOf = (rows: number) => (rows === 0 ? undefined : { liveEntries: liveEntries + rows });
  const change = after(grown, changeOf);
  return agent.recentWrites === null ? change : countWrite(agent, change, moment.nowMs);
}

/** Adds a write to the recent writes, or drops them if there is no limit any more. */
async function countWrite(
  { policies, recentWrites }: AgentState,
  change: MaybePromise<AgentChange | undefined>,
  nowMs: number,
): Promise<AgentChange> {
  const isLimited = policies.limits?.writes_per_minute !== undefined;
  return { ...(await change), recentWrites: isLimited ? (recentWrites?.and(nowMs) ?? null) : null };
}

/** Applies the effects other than `put`, which is the most frequent one and needs no promise. */
async function applyOther(
  tx: Transaction,
  agent: AgentState,
  effect: Exclude<Effect, { kind: "none" | "put" }>,
  moment: Moment,
): Promise<AgentChange | undefined> {
  const { liveEntries } = agent;
  switch (effect.kind) {
    case "end":
      requireCount(await endEntry(tx, agent, effect.key, moment), 1);
      return { liveEntries: liveEntries - 1 };
    case "end_prefix":
      requireCount(await endPrefix(tx, agent, effect.prefix, moment), effect.count);
      return { liveEntries: liveEntries - effect.count };
    case "expire":
      return applyExpiry(tx, agent, effect, moment);
    case "erase": {
      const erased = await erase(tx, agent, effect.agentId, effect.target, moment.pause);
      requireCount(erased.entries, effect.entries);
      requireCount(erased.versions, effect.versions);
      await eraseDetails(tx, effect.erased, moment.pause);
      return { liveEntries: liveEntries - effect.entries };
    }
    case "add_config": {
      const change = await insertConfig(tx, agent.firstSeq, effect.content, moment.seq);
      if (agent.agentId !== null) return change;
      const { version, config } = effect.content;
      return { ...change, workspacePolicies: workspacePoliciesOf(version, JSON.parse(config) as JsonObject) };
    }
    case "add_checkpoint": {
      const metadata = canonicalJson(effect.metadata);
      await insertCheckpoint(tx, agent, { ...effect, metadata, eventSeq: moment.seq });
      return { newestCheckpoint: effect.asOfSeq };
    }
    case "remove_checkpoint":
      return { newestCheckpoint: await deleteCheckpoint(tx, agent, effect.id, moment.pause) };
    case "restore":
      return applyRestore(tx, agent, effect, moment);
    case "set_aside":
      requireCount(await setAside(tx, effect, moment.seq), effect.ids.length);
      return undefined;
    case "release":
      requireCount(await release(tx, effect), effect.ids.length);
      return undefined;
    case "suspend":
    case "resume":
      return { suspended: effect.kind === "suspend" };
    case "prune":
      requireCount(await prune(tx, effect.beforeSeq), effect.events);
      return undefined;
    case "heads":
      await storeHeads(tx, effect.changes);
      return undefined;
    case "rows":
      await applyRows(tx, effect.changes, effect.contents);
      if (effect.account !== null) await eraseAccount(tx, effect.account, effect.erased, moment.pause);
      return undefined;
  }
}

/** Removes versions that have expired, and then those of the history that ended before a position. */
async function applyExpiry(
  tx: Transaction,
  agent: AgentState,
  { count, through, fresh, expired, live }: EffectOf<"expire">,
  moment: Moment,
): Promise<AgentChange> {
  const removed = await removeExpired(tx, agent, fresh, { ...moment, count: expired });
  const isMoved = through > agent.historyFrom;
  const dropped = isMoved ? await dropHistory(tx, agent, fresh, { ...moment, through }) : 0;
  requireCount(removed + dropped, count);
  return { liveEntries: agent.liveEntries - live, historyFrom: through };
}

/** Makes a safety checkpoint, so that the restore can be undone, and restores the config and the data. */
async function applyRestore(
  tx: Transaction,
  agent: AgentState,
  { safety, newConfig, plan }: EffectOf<"restore">,
  moment: Moment,
): Promise<AgentChange> {
  const asOfSeq = moment.seq - 1;
  await insertCheckpoint(tx, agent, { ...safety, asOfSeq, eventSeq: moment.seq, label: null, metadata: "{}" });
  const config = newConfig === null ? {} : await insertConfig(tx, agent.firstSeq, newConfig, moment.seq);
  if (plan === null) return { ...config, newestCheckpoint: asOfSeq };
  await restoreEntries(tx, plan, moment);
  const liveEntries = agent.liveEntries - plan.end.length + plan.comeBack.length;
  return { ...config, newestCheckpoint: asOfSeq, liveEntries };
}

/**
 * Applies the changes of one event.
 * @param contents of the rows of which the changes state a digest
 * @throws when a change does not fit the stored rows, or the contents are not those of the digest, since the event
 * would be false
 */
export async function applyRows(
  tx: Transaction,
  changes: readonly RowChange[],
  contents: BoundContents,
): Promise<void> {
  for (const change of changes) {
    const { table, kind, key, digest } = change;
    const facts: RowTable = ROW_TABLES[table];
    const own = contents[table] ?? {};
    if (digest !== undefined && boundDigest(facts, own) !== digest) {
      throw new Error(`the contents of ${table} are not those that the event states`);
    }
    const columns = digest === undefined ? change.columns : { ...change.columns, ...own };
    if ((await applyRow(tx, facts, { ...change, columns })) !== 1) {
      throw new Error(`a row of ${table} does not fit the change ${kind} of ${key}`);
    }
  }
}

/** Returns how many rows were changed. */
function applyRow(tx: Transaction, facts: RowTable, { table, kind, key, columns }: RowChange) {
  const names = Object.keys(columns);
  const values = Object.values(columns);
  const where = `${facts.key} = ?`;
  if (kind === "remove") return tx.change(`DELETE FROM ${table} WHERE ${where}`, [key]);
  if (kind === "set") {
    const set = names.length === 0 ? `${facts.key} = ${facts.key}` : names.map((name) => `${name} = ?`).join(", ");
    return tx.change(`UPDATE ${table} SET ${set} WHERE ${where}`, [...values, key]);
  }
  const all = [facts.key, ...names];
  const sql = `INSERT INTO ${table} (${all.join(", ")}) VALUES (${all.map(() => "?").join(", ")})`;
  return tx.change(sql, [key, ...values]);
}

function requireCount(changed: number, stated: number): void {
  if (changed !== stated) throw new Error(`an effect on ${stated} rows changed ${changed}`);
}
