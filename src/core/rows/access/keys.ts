/** The API keys of a workspace as its file has them: the rows that events state, and when each key was last used. */
import type { Scope } from "../../../operation-facts.ts";
import type { Reader } from "../../../store/transaction.ts";

/** Times are ms since the Unix epoch. */
export interface StoredKey {
  id: string;
  label: string | null;
  scope: Scope;
  /** The agents that the key is limited to; null means every agent. */
  agents: readonly string[] | null;
  /** The addresses and networks that requests may come from; null means everywhere. */
  networks: readonly string[] | null;
  createdAt: number;
  createdBy: string;
  expiresAt: number | null;
  lastUsedAt: number | null;
  revokedAt: number | null;
  /** The key that replaced this one when it was rotated. */
  replacedBy: string | null;
}

const SELECT = `SELECT k.id, k.label, k.scope, k.agents, k.networks, c.timestamp, c.actor, k.expires_at,
  u.last_used_at, e.timestamp, k.replaced_by
  FROM keys k JOIN events c ON c.seq = k.created_seq LEFT JOIN events e ON e.seq = k.ended_seq
  LEFT JOIN key_use u ON u.id = k.id`;

type Row = [
  id: string,
  label: string | null,
  scope: Scope,
  agents: string | null,
  networks: string | null,
  createdAt: string,
  createdBy: string,
  expiresAt: number | null,
  lastUsedAt: number | null,
  revokedAt: string | null,
  replacedBy: string | null,
];

function keyOf(row: Row): StoredKey {
  const [id, label, scope, agents, networks, createdAt, createdBy, expiresAt, lastUsedAt, revokedAt, replacedBy] = row;
  return {
    ...{ id, label, scope, agents: listOf(agents), networks: listOf(networks), createdAt: Date.parse(createdAt) },
    ...{ createdBy, expiresAt, lastUsedAt, revokedAt: revokedAt === null ? null : Date.parse(revokedAt), replacedBy },
  };
}

const listOf = (text: string | null): string[] | null => (text === null ? null : JSON.parse(text));

/** Returns all keys of the workspace, the oldest first, also those that have ended. */
export async function listKeys(reader: Reader): Promise<StoredKey[]> {
  return (await reader.all<Row>(`${SELECT} ORDER BY k.created_seq, k.id`)).map(keyOf);
}

/** Finds a key by its id, ended or not. */
export async function findKey(reader: Reader, id: string): Promise<StoredKey | undefined> {
  const row = await reader.get<Row>(`${SELECT} WHERE k.id = ?`, [id]);
  return row && keyOf(row);
}

/** Finds a key by its SHA-256, hex, ended or not. */
export async function findKeyByDigest(reader: Reader, digest: string): Promise<StoredKey | undefined> {
  const row = await reader.get<Row>(`${SELECT} WHERE k.digest = ?`, [digest]);
  return row && keyOf(row);
}

/** Reports whether a key is valid at a time, or why it is not. */
export function keyState(
  key: Pick<StoredKey, "revokedAt" | "expiresAt">,
  now: number,
): "in_force" | "expired" | "revoked" {
  if (key.revokedAt !== null) return "revoked";
  return key.expiresAt !== null && key.expiresAt <= now ? "expired" : "in_force";
}
