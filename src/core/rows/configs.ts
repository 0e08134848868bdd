/** Reads and stores the versions of an agent's configuration. */
import type { JsonObject } from "../../json.ts";
import type { EffectFacts } from "../../log/effects.ts";
import { saltedDigest } from "../../log/hash.ts";
import type { OldestFirst, Page } from "../../operation-facts.ts";
import { type PolicySettings, policiesOf } from "../../screen/policies.ts";
import { RETENTION } from "../../screen/retention.ts";
import { NO_WORKSPACE_POLICIES, type WorkspacePolicies, workspacePoliciesOf } from "../../screen/workspace-policies.ts";
import type { Reader, Transaction } from "../../store/transaction.ts";
import { pageOf } from "../lists.ts";
import { ensureAgeIndex } from "./age-index.ts";
import { directionOf } from "./direction.ts";

/** Formats a version as `v1`, `v2` …. {@link parseVersion} is the inverse, and returns null for any other text. */
export const showVersion = (version: number | null): string | null => (version === null ? null : `v${version}`);

export function parseVersion(text: string): number | null {
  return /^v[1-9][0-9]{0,14}$/.test(text) ? Number(text.slice(1)) : null;
}

/** A config version that is about to take effect. */
export interface NewConfig {
  version: number;
  /** Canonical JSON. */
  config: string;
  /** Of its digest, hex. */
  salt: string;
  rolledBackFrom: number | null;
}

export interface ConfigVersion extends Omit<NewConfig, "salt"> {
  createdAt: string;
  createdBy: string;
}

/** A version in force, and its policies. */
interface InForce {
  configVersion: number;
  own: PolicySettings;
}

/** Returns the policies in a stored configuration. */
export const policiesIn = (config: string): PolicySettings => policiesOf(JSON.parse(config) as JsonObject);

type ConfigRow = [version: number, config: string, createdAt: string, createdBy: string, rolledBackFrom: number | null];

const SELECT = `SELECT c.version, c.config, e.timestamp, e.actor, c.rolled_back_from
  FROM configs c JOIN events e ON e.seq = c.created_seq`;

function toConfigVersion([version, config, createdAt, createdBy, rolledBackFrom]: ConfigRow): ConfigVersion {
  return { version, config, createdAt, createdBy, rolledBackFrom };
}

/** Returns a version of an agent's configuration, which must exist. */
export async function readConfigVersion(reader: Reader, agent: number, version: number): Promise<ConfigVersion> {
  const row = await reader.get<ConfigRow>(`${SELECT} WHERE c.agent = ? AND c.version = ?`, [agent, version]);
  if (row === undefined) throw new Error("a configuration version is not stored");
  return toConfigVersion(row);
}

/** Returns a page of an agent's versions, after the version of the page's position if there is one. */
export async function listConfigs(reader: Reader, agent: number, { order, page }: OldestFirst & { page: Page }) {
  const { after = order === "asc" ? 0 : Number.MAX_SAFE_INTEGER, limit, offset } = page;
  const { order: end, behind } = directionOf(order);
  const sql = `${SELECT} WHERE c.agent = ? AND c.version ${behind} ? ORDER BY c.version ${end} LIMIT ? OFFSET ?`;
  const rows = await reader.all<ConfigRow>(sql, [agent, Number(after), limit + 1, offset]);
  return pageOf(rows.map(toConfigVersion), limit);
}

/** Returns the agents whose configuration in force sets a policy. */
export async function agentsThatSet(reader: Reader, policy: keyof PolicySettings): Promise<string[]> {
  const rows = await reader.all<[string]>(
    `SELECT a.agent_id FROM agents a JOIN configs c ON c.agent = a.first_seq
     WHERE a.agent_id IS NOT NULL AND c.version = (SELECT max(version) FROM configs WHERE agent = a.first_seq)
       AND c.config ->> '$.policies.${policy}' IS NOT NULL`,
  );
  return rows.map(([agentId]) => agentId);
}

/** Returns the version that was in force right after a position of the log; null for none. */
export const versionAt = async (reader: Reader, agent: number, seq: number): Promise<number | null> =>
  (await reader.value<number | null>("SELECT max(version) FROM configs WHERE agent = ? AND created_seq <= ?", [
    agent,
    seq,
  ])) ?? null;

/**
 * Returns the workspace policies. Their versions are stored as configs of the workspace's own chain.
 * @param seq the position right after which they were in force; the present ones by default
 */
export async function loadWorkspacePolicies(reader: Reader, seq = Number.MAX_SAFE_INTEGER): Promise<WorkspacePolicies> {
  const row = await reader.get<[number, string]>(
    `SELECT version, config FROM configs
     WHERE agent = (SELECT first_seq FROM agents WHERE agent_id IS NULL) AND created_seq <= ?
     ORDER BY version DESC LIMIT 1`,
    [seq],
  );
  return row === undefined ? NO_WORKSPACE_POLICIES : workspacePoliciesOf(row[0], JSON.parse(row[1]) as JsonObject);
}

/** Returns the details of an event about a version. `letter`: `p` for the workspace policies. */
export function configFacts(
  { version, config, salt, rolledBackFrom }: NewConfig,
  letter: "v" | "p" = "v",
): EffectFacts["add_config"] {
  return {
    version: `${letter}${version}`,
    digest: saltedDigest(salt, config),
    rolledBackFrom: showVersion(rolledBackFrom),
  };
}

/** Stores a version, made by the event at `createdSeq`. Returns the version in force and its policies. */
export async function insertConfig(
  tx: Transaction,
  agent: number,
  { version, config, salt, rolledBackFrom }: NewConfig,
  createdSeq: number,
): Promise<InForce> {
  await tx.run(
    "INSERT INTO configs (agent, version, config, salt, created_seq, rolled_back_from) VALUES (?, ?, ?, ?, ?, ?)",
    [agent, version, config, salt, createdSeq, rolledBackFrom],
  );
  const now = { configVersion: version, own: policiesIn(config) };
  if (now.own[RETENTION] !== null) await ensureAgeIndex(tx);
  return now;
}
