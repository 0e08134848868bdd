/** Decides whether an agent may write at all, apart from what policies find in the content. */
import { type Decision, decide, findingsOf, type Refused } from "../../screen/decide.ts";
import { LIMITS, type LimitName, type LimitsSetting } from "../../screen/limits.ts";
import type { PolicySettings } from "../../screen/policies.ts";
import type { Content } from "../../screen/policy.ts";
import { freshAt, type Viewer } from "../../screen/retention.ts";
import { REQUIRE_CONFIG } from "../../screen/workspace-policies.ts";
import type { MaybePromise, Reader } from "../../store/transaction.ts";
import type { AgentState } from "../rows/agents.ts";
import { loadRecentWrites } from "../rows/counts/activity.ts";
import { hasEntry } from "../rows/entries.ts";
import { countHidden } from "../rows/expiry.ts";

/** A reason to refuse a write that does not depend on findings. */
export type Bar = Omit<Refused, "allowed" | "findings">;

/**
 * An agent that is about to write, with its recent writes if its limits need them, and the reason to refuse, if any.
 */
interface Admission {
  agent: AgentState;
  /** Null when the agent may write. */
  bar: Bar | null;
}

const NO_CONFIG: Bar = {
  blockedBy: `policy:${REQUIRE_CONFIG}`,
  message:
    "Blocked, nothing was changed: the workspace lets no agent write that has no configuration. Make one with PUT /v1/config/{agent_id}, then write again.",
};

/** Returns the reason to refuse a write of an agent without a config; null when the workspace policies require none. */
export const barWithoutConfig = ({ workspacePolicies, configVersion }: AgentState): Bar | null =>
  workspacePolicies.requireConfig && configVersion === null ? NO_CONFIG : null;

/** Decides whether an agent may write an entry now. Limits are checked first. */
export function admit(
  reader: Reader,
  agent: AgentState,
  entry: Pick<Content, "key" | "value">,
  viewer: Viewer,
): MaybePromise<Admission> {
  const { limits } = agent.policies;
  // Every write passes here, so without limits there is no promise and no query.
  if (limits === null) return { agent, bar: barWithoutConfig(agent) };
  return admitUnder(reader, agent, limits, entry, viewer);
}

async function admitUnder(
  reader: Reader,
  agent: AgentState,
  limits: LimitsSetting,
  entry: Pick<Content, "key" | "value">,
  viewer: Viewer,
): Promise<Admission> {
  const counted = limits.writes_per_minute === undefined ? agent : await withRecentWrites(reader, agent, viewer.nowMs);
  const bar = await barUnder(reader, counted, limits, entry, viewer);
  return { agent: counted, bar: bar ?? barWithoutConfig(agent) };
}

/**
 * Returns the reason to refuse a write under these limits, or null. Limits that waiting does not resolve are checked
 * first.
 */
export async function barUnder(
  reader: Reader,
  agent: AgentState,
  limits: LimitsSetting,
  { key, value }: Pick<Content, "key" | "value">,
  viewer: Viewer,
): Promise<Bar | null> {
  const tooLong = barOfValue(limits, value);
  if (tooLong !== null) return tooLong;
  const { entries, writes_per_minute: writes } = limits;
  if (entries !== undefined && (await isFull(reader, agent, entries, key, viewer))) return barOfEntries(entries);
  if (writes === undefined) return null;
  const { nowMs } = viewer;
  const { recentWrites } = await withRecentWrites(reader, agent, nowMs);
  const waitMs = recentWrites?.waitMs(writes, nowMs) ?? 0;
  if (waitMs === 0) return null;
  const seconds = Math.ceil(waitMs / 1_000);
  const message = `the agent may write ${count(writes, "entry", "entries")} in 60 seconds, and has. Write again in ${count(seconds, "second", "seconds")}.`;
  return { ...exceeded("writes_per_minute", message), retryAfterSeconds: seconds };
}

/** Returns the reason to refuse a value that is too long; null when it is not. */
export function barOfValue({ value_bytes: most }: LimitsSetting, value: string): Bar | null {
  // A UTF-16 code unit becomes at most three bytes.
  if (most === undefined || value.length * 3 <= most) return null;
  const bytes = Buffer.byteLength(value, "utf8");
  if (bytes <= most) return null;
  return exceeded(
    "value_bytes",
    `a value of the agent may have ${count(most, "byte", "bytes")}, and this one has ${bytes}.`,
  );
}

/** Returns the reason to refuse an entry beyond the most that there may be. */
export const barOfEntries = (most: number): Bar =>
  exceeded("entries", `the agent may have ${count(most, "entry", "entries")}. Delete some, then write again.`);

const exceeded = (limit: LimitName, message: string): Bar => ({
  blockedBy: `policy:${LIMITS}`,
  message: `Blocked, nothing was changed: ${message}`,
  limit,
});

const count = (number: number, one: string, more: string): string => `${number} ${number === 1 ? one : more}`;

/** Whether an entry with this key would exceed the limit `most`. Reads nothing while there are fewer entries. */
async function isFull(reader: Reader, agent: AgentState, most: number, key: string, viewer: Viewer): Promise<boolean> {
  const over = agent.liveEntries + 1 - most;
  if (over <= 0 || (await hasEntry(reader, agent, key, viewer))) return false;
  // Entries that do not exist for the writer do not count.
  return (await countHidden(reader, agent, freshAt(agent.policies, viewer), over)) < over;
}

/**
 * Returns an agent with the times of its recent writes, loaded from the log, so that a restart does not reset rates.
 */
async function withRecentWrites(reader: Reader, agent: AgentState, nowMs: number): Promise<AgentState> {
  if (agent.recentWrites !== null) return agent;
  return { ...agent, recentWrites: await loadRecentWrites(reader, agent.agentId, nowMs) };
}

/** Decides about an entry by its content and the length of its value only, without limits that depend on the agent. */
export function decideAlone(policies: PolicySettings, content: Content, nowMs?: number): Decision {
  const { limits } = policies;
  return underBar(limits && barOfValue(limits, content.value), decide(policies, content, nowMs));
}

/**
 * Returns the decision of the policies, turned into a refusal if there is a bar. The refusal also lists the findings.
 */
export function underBar(bar: Bar | null, decision: Decision): Decision {
  if (bar === null) return decision;
  const { excepted } = decision.allowed ? (decision.found ?? {}) : decision;
  return { allowed: false, ...bar, findings: [...findingsOf(decision)], ...(excepted && { excepted }) };
}
