/**
 * Creates workspaces, and creates and ends API keys, for the command line and the dashboard. The audit event is
 * recorded before the effect. A crash in between leaves a record of something that did not happen, never an effect
 * without a record.
 */
import { Failure } from "../failure.ts";
import type { Clock, IdSource, RandomPool } from "../ids.ts";
import type { Connection } from "../store/connection.ts";
import { generateApiKey } from "./api-key.ts";
import type { ControlDatabase } from "./database.ts";
import type { WorkspaceJournal } from "./journal.ts";
import {
  findKey,
  insertKey,
  type KeyRecord,
  type KeyScope,
  keyState,
  markReplaced,
  markRevoked,
} from "./keys.ts";
import { digestOf } from "./secret.ts";
import { insertWorkspace, nameProblem, requireWorkspace, type WorkspaceRecord } from "./workspaces.ts";

/** The label of the key that is created with a workspace. */
const FIRST_KEY_LABEL = "first key";
/** The format of an agent's id; see the API's documentation. */
const AGENT_ID = /^[A-Za-z0-9._:@~-]{1,128}$/;
/** The most agents that one key can be limited to. */
export const KEY_AGENTS_MAX = 1_000;
/** The last moment that RFC 3339 can express: it has four digits for the year. */
const LAST_MOMENT_MS = Date.UTC(10_000, 0, 1) - 1;

export interface AdministrationOptions {
  control: ControlDatabase;
  journal: WorkspaceJournal;
  clock: Clock;
  ids: IdSource;
  random: RandomPool;
  /** Who acts: `cli` or `usr_…`. */
  actor: string;
}

/** What a new key should be. */
export interface KeyWish {
  workspaceId: string;
  label: string | null;
  scope: KeyScope;
  agents: readonly string[] | null;
  /** Milliseconds from now, or null for a key that does not expire. */
  expiresInMs: number | null;
}

/** A new key. Its text is shown only now. */
export interface NewKey {
  apiKey: string;
  record: KeyRecord;
  /** The event that recorded the key. */
  auditId: string;
}

/** A key before it is recorded. */
type DraftKey = Omit<NewKey, "auditId">;

export class Administration {
  readonly #options: AdministrationOptions;

  constructor(options: AdministrationOptions) {
    this.#options = options;
  }

  /**
   * Creates a workspace and its first key, which has full scope. `also` runs in the same transaction of the control
   * database. When it throws, the control database stays unchanged.
   */
  async createWorkspace(
    name: string,
    also: (connection: Connection, workspace: WorkspaceRecord) => void = () => {},
  ): Promise<NewKey & { workspace: WorkspaceRecord }> {
    const problem = nameProblem(name);
    if (problem) throw new Failure("usage", `The name of a workspace must ${problem}.`);
    const { control, journal, clock, ids, actor } = this.#options;
    const workspace = { id: ids.next("ws"), name, createdAt: clock(), createdBy: actor };
    const key = this.#newKey({
      workspaceId: workspace.id,
      label: FIRST_KEY_LABEL,
      scope: "full",
      agents: null,
      expiresInMs: null,
    });
    await journal.create({ id: workspace.id, name, actor });
    const details = keyDetails(key.record);
    const auditId = await journal.record(workspace.id, { operation: "key.create", actor, details });
    control.change((connection) => {
      insertWorkspace(connection, workspace);
      insertKey(connection, key.record, digestOf(key.apiKey));
      also(connection, workspace);
    });
    return { ...key, auditId, workspace };
  }

  /** Creates a key. @throws {Failure} `not_found`, `usage`, `busy` */
  async createKey(wish: KeyWish): Promise<NewKey> {
    const { control, journal, actor } = this.#options;
    refuseBadWish(wish);
    requireWorkspace(control.connection, wish.workspaceId);
    const key = this.#newKey(wish);
    const details = keyDetails(key.record);
    const auditId = await journal.record(wish.workspaceId, { operation: "key.create", actor, details });
    control.change((connection) => insertKey(connection, key.record, digestOf(key.apiKey)));
    return { ...key, auditId };
  }

  /**
   * Replaces a key by a new one with the same label, scope, agents and lifetime. The old key stays valid for
   * `overlapMs`, so that its users can switch.
   */
  async rotateKey(keyId: string, overlapMs: number): Promise<NewKey & { replaced: KeyRecord }> {
    const { control, journal, clock, actor } = this.#options;
    const old = findKey(control.connection, keyId);
    if (!old) throw noSuchKey();
    const now = clock();
    if (keyState(old, now) !== "in_force") throw keyEnded();
    const { workspaceId, label, scope, agents } = old;
    const expiresInMs = old.expiresAt === null ? null : old.expiresAt - old.createdAt;
    const key = this.#newKey({ workspaceId, label, scope, agents, expiresInMs });
    const endsAt = Math.min(now + overlapMs, old.expiresAt ?? Number.POSITIVE_INFINITY);
    const auditId = await journal.record(workspaceId, {
      operation: "key.rotate",
      actor,
      details: {
        ...keyDetails(key.record),
        replaces: old.id,
        replaced_expires_at: new Date(endsAt).toISOString(),
      },
    });
    control.change((connection) => {
      // The key may have been revoked meanwhile. Then it is not replaced.
      if (!markReplaced(connection, old.id, key.record.id, endsAt)) throw keyEnded();
      insertKey(connection, key.record, digestOf(key.apiKey));
    });
    return { ...key, auditId, replaced: { ...old, expiresAt: endsAt, replacedBy: key.record.id } };
  }

  /** Revokes a key at once and for good. Revoking it again changes nothing. */
  async revokeKey(keyId: string): Promise<KeyRecord & { revokedAt: number; auditId: string | null }> {
    const { control, journal, clock, actor } = this.#options;
    const key = findKey(control.connection, keyId);
    if (!key) throw noSuchKey();
    if (key.revokedAt !== null) return { ...key, revokedAt: key.revokedAt, auditId: null };
    const details = { key_id: key.id };
    const auditId = await journal.record(key.workspaceId, { operation: "key.revoke", actor, details });
    const revokedAt = clock();
    control.change((connection) => markRevoked(connection, key.id, revokedAt, actor));
    // If two revoke the key at the same time, the time of the first one is kept.
    return { ...key, revokedAt: findKey(control.connection, key.id)?.revokedAt ?? revokedAt, auditId };
  }

  #newKey(wish: KeyWish): DraftKey {
    const { clock, ids, random, actor } = this.#options;
    const createdAt = clock();
    const expiresAt = wish.expiresInMs === null ? null : createdAt + wish.expiresInMs;
    if (expiresAt !== null && expiresAt > LAST_MOMENT_MS) {
      throw new Failure(
        "usage",
        "The key would expire after the year 9999: choose a shorter time, or no expiry.",
      );
    }
    const record: KeyRecord = {
      id: ids.next("key"),
      workspaceId: wish.workspaceId,
      label: wish.label,
      scope: wish.scope,
      agents: wish.agents,
      createdAt,
      createdBy: actor,
      expiresAt,
      lastUsedAt: null,
      revokedAt: null,
      replacedBy: null,
    };
    return { apiKey: generateApiKey(random), record };
  }
}

function refuseBadWish({ label, agents, expiresInMs }: KeyWish): void {
  const problem = label === null ? null : nameProblem(label);
  if (problem) throw new Failure("usage", `The label of a key must ${problem}.`);
  if (agents !== null && (agents.length === 0 || agents.length > KEY_AGENTS_MAX)) {
    throw new Failure("usage", `A key can be limited to 1 to ${KEY_AGENTS_MAX} agents.`);
  }
  if (agents?.some((agent) => !AGENT_ID.test(agent))) {
    throw new Failure("usage", "An agent's id is 1 to 128 of the characters A-Z a-z 0-9 . _ : @ ~ -");
  }
  if (expiresInMs !== null && expiresInMs <= 0) {
    throw new Failure("usage", "A key must expire in the future: for example 90d.");
  }
}

const noSuchKey = () =>
  new Failure(
    "not_found",
    "There is no such key. `governd key list --workspace W` lists the keys of a workspace.",
  );

const keyEnded = () =>
  new Failure(
    "usage",
    "The key is already revoked or expired. Create a new key instead of rotating this one.",
  );

/** Returns what the audit event says about a key: everything except the key itself. */
function keyDetails(record: KeyRecord) {
  return {
    key_id: record.id,
    label: record.label,
    scope: record.scope,
    agents: record.agents && [...record.agents],
    expires_at: record.expiresAt === null ? null : new Date(record.expiresAt).toISOString(),
  };
}
