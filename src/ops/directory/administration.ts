/** Creates workspaces, and creates and ends API keys, for the command line and the dashboard. */

import { isDeepStrictEqual } from "node:util";
import { isAgentId } from "../../agent-id.ts";
import { Failure } from "../../failure.ts";
import { LAST_MOMENT_MS, type RandomPool, showTime, showTimeOrNull } from "../../ids.ts";
import { isNetwork } from "../../networks.ts";
import { type ActParts, act, type Decision } from "./acts.ts";
import { generateApiKey } from "./api-key.ts";
import type { Change } from "./changes.ts";
import { findKey, type KeyRecord, type KeyScope, keyState } from "./keys.ts";
import { digestOf } from "./secret.ts";
import { findInstallation, nameProblem, requireWorkspace, type WorkspaceRecord } from "./workspaces.ts";

/** The key that is created with a workspace. */
const FIRST_KEY = { label: "first key", scope: "full", agents: null, expiresInMs: null } as const;
/** The most agents that one key can be limited to. */
export const KEY_AGENTS_MAX = 1_000;
/** The most networks that one key can be limited to. */
export const KEY_NETWORKS_MAX = 100;
/** The last moment that RFC 3339 can express: it has four digits for the year. */

export interface AdministrationOptions extends ActParts {
  random: RandomPool;
  /** The actor: `cli` or `usr_…`. */
  actor: string;
  /** Throws when the actor may not manage the keys of this workspace. Called when an act is decided. */
  permit(workspaceId: string): void;
}

interface KeyRequest {
  workspaceId: string;
  label: string | null;
  scope: KeyScope;
  agents: readonly string[] | null;
  /** The addresses and networks that requests may come from; null or absent means everywhere. */
  networks?: readonly string[] | null;
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
  constructor(private readonly options: AdministrationOptions) {}

  /**
   * Creates a workspace and its first key, which has full scope. `more` is called when the act is decided. It returns
   * further changes and the event in the log of the installation, or throws.
   */
  async createWorkspace<A>(
    name: string,
    more: (workspace: WorkspaceRecord) => Pick<Decision<unknown, A>, "changes" | "also" | "trace"> = (workspace) => ({
      changes: [],
      ...this.#traceOf(workspace),
    }),
  ): Promise<NewKey & { workspace: WorkspaceRecord } & A> {
    const problem = nameProblem(name);
    if (problem) throw new Failure("usage", `The name of a workspace must ${problem}.`);
    const { clock, ids, actor } = this.options;
    const id = ids.next("ws");
    return await act(this.options, id, () => {
      const workspace = { id, name, createdAt: clock(), createdBy: actor, secondFactorSince: null };
      const key = this.#newKey({ ...FIRST_KEY, workspaceId: id });
      const { changes, ...rest } = more(workspace);
      return {
        ...rest,
        genesis: { id, name, actor },
        event: { operation: "key.create", actor, details: keyDetails(key) },
        changes: [["addWorkspace", workspace], added(key), ...changes],
        result: { ...key, workspace },
      };
    });
  }

  /**
   * Returns the event, in the log of the installation, of a workspace that the operator creates, if that log exists.
   */
  #traceOf({ id, createdBy: actor }: WorkspaceRecord): Pick<Decision<unknown>, "trace"> {
    if (findInstallation(this.options.control.connection) === undefined) return {};
    const details = { account_id: null, created_workspace_id: id };
    return { trace: { operation: "account.create_workspace", actor, details } };
  }

  /** Creates a key. @throws {Failure} `not_found`, `usage`, `busy` */
  async createKey(request: KeyRequest): Promise<NewKey> {
    const { control, actor, permit } = this.options;
    refuseBadRequest(request);
    return await act(this.options, request.workspaceId, () => {
      requireWorkspace(control.connection, request.workspaceId);
      permit(request.workspaceId);
      const key = this.#newKey(request);
      return {
        event: { operation: "key.create", actor, details: keyDetails(key) },
        changes: [added(key)],
        result: key,
      };
    });
  }

  /**
   * Replaces a key by a new one with the same label, scope, agents, networks and lifetime. The old key stays valid for
   * `overlapMs`, so that its users can switch. A key is replaced only once.
   * @throws {KeyEnded} when the key is revoked, expired or replaced
   */
  async rotateKey(keyId: string, overlapMs: number): Promise<NewKey & { replaced: KeyRecord }> {
    const { clock, actor, permit } = this.options;
    return await act(this.options, this.#requireKey(keyId).workspaceId, () => {
      const old = this.#requireKey(keyId);
      const { workspaceId, label, scope, agents, networks } = old;
      permit(workspaceId);
      const now = clock();
      if (keyState(old, now) !== "in_force") throw new KeyEnded(ENDED);
      if (old.replacedBy !== null) throw new KeyEnded(REPLACED);
      const expiresInMs = old.expiresAt === null ? null : old.expiresAt - old.createdAt;
      const key = this.#newKey({ workspaceId, label, scope, agents, networks, expiresInMs });
      const replaced = {
        ...old,
        expiresAt: Math.min(now + overlapMs, old.expiresAt ?? Number.POSITIVE_INFINITY),
        replacedBy: key.record.id,
      };
      const { id, expiresAt, replacedBy: by } = replaced;
      const replaces = { replaces: id, replaced_expires_at: showTime(expiresAt) };
      return {
        event: { operation: "key.rotate", actor, details: { ...keyDetails(key), ...replaces } },
        changes: [["replaceKey", { id, by, expiresAt }], added(key)],
        result: { ...key, replaced },
      };
    });
  }

  /**
   * Limits a key to networks, at once; null ends the limit. Records nothing when nothing changes.
   * @throws {KeyEnded} when the key is revoked or expired
   */
  async limitKey(keyId: string, networks: readonly string[] | null): Promise<KeyRecord & { auditId: string | null }> {
    const { clock, actor, permit } = this.options;
    refuseBadNetworks(networks);
    return await act(this.options, this.#requireKey(keyId).workspaceId, () => {
      const key = this.#requireKey(keyId);
      permit(key.workspaceId);
      if (keyState(key, clock()) !== "in_force") throw new KeyEnded(ENDED);
      if (isDeepStrictEqual(key.networks, networks)) return { event: null, result: key };
      const { id } = key;
      const details = { key_id: id, networks: networks && [...networks] };
      return {
        event: { operation: "key.change", actor, details },
        changes: [["limitKey", { id, networks }]],
        result: { ...key, networks },
      };
    });
  }

  /** Revokes a key at once and for good. Revoking it again changes nothing. */
  async revokeKey(keyId: string): Promise<KeyRecord & { revokedAt: number; auditId: string | null }> {
    const { clock, actor, permit } = this.options;
    return await act(this.options, this.#requireKey(keyId).workspaceId, () => {
      const key = this.#requireKey(keyId);
      permit(key.workspaceId);
      const { id, revokedAt } = key;
      if (revokedAt !== null) return { event: null, result: { ...key, revokedAt } };
      const at = clock();
      return {
        event: { operation: "key.revoke", actor, details: { key_id: id, revoked_at: showTime(at) } },
        changes: [["revokeKey", { id, at, by: actor }]],
        result: { ...key, revokedAt: at },
      };
    });
  }

  #requireKey(id: string): KeyRecord {
    const key = findKey(this.options.control.connection, id);
    if (key !== undefined) return key;
    throw new Failure(
      "not_found",
      "There is no such key. `governd key list --workspace W` lists the keys of a workspace.",
    );
  }

  #newKey({ expiresInMs, networks = null, ...wanted }: KeyRequest): DraftKey {
    const { clock, ids, random, actor } = this.options;
    const createdAt = clock();
    const expiresAt = expiresInMs === null ? null : createdAt + expiresInMs;
    if (expiresAt !== null && expiresAt > LAST_MOMENT_MS) {
      throw new Failure("usage", "The key would expire after the year 9999: choose a shorter time, or no expiry.");
    }
    const record: KeyRecord = {
      ...wanted,
      networks,
      id: ids.next("key"),
      createdAt,
      createdBy: actor,
      expiresAt,
      lastUsedAt: null,
      revokedAt: null,
      replacedBy: null,
    };
    return { apiKey: generateApiKey(record.workspaceId, random), record };
  }
}

function refuseBadNetworks(networks: readonly string[] | null): void {
  if (networks === null) return;
  if (networks.length === 0 || networks.length > KEY_NETWORKS_MAX) {
    throw new Failure("usage", `A key can be limited to 1 to ${KEY_NETWORKS_MAX} networks.`);
  }
  if (!networks.every(isNetwork)) {
    throw new Failure(
      "usage",
      "A network is an IP address or a range in CIDR form: 192.0.2.7, 10.0.0.0/8, 2001:db8::/32.",
    );
  }
}

function refuseBadRequest({ label, agents, networks = null, expiresInMs }: KeyRequest): void {
  refuseBadNetworks(networks);
  const problem = label === null ? null : nameProblem(label);
  if (problem) throw new Failure("usage", `The label of a key must ${problem}.`);
  if (agents !== null && (agents.length === 0 || agents.length > KEY_AGENTS_MAX)) {
    throw new Failure("usage", `A key can be limited to 1 to ${KEY_AGENTS_MAX} agents.`);
  }
  if (agents?.some((agent) => !isAgentId(agent))) {
    throw new Failure("usage", "An agent's id is 1 to 128 of the characters A-Z a-z 0-9 . _ : @ ~ -");
  }
  if (expiresInMs !== null && expiresInMs <= 0) {
    throw new Failure("usage", "A key must expire in the future: for example 90d.");
  }
}

/** The key cannot be rotated, since it has ended or was rotated before. */
export class KeyEnded extends Failure {
  constructor(message: string) {
    super("usage", message);
  }
}

const ENDED = "The key is already revoked or expired. Create a new key instead of rotating or changing this one.";
const REPLACED = "The key was already rotated. Rotate the key that replaced it, or create a new one.";

/** Returns the change that stores a new key. */
const added = ({ apiKey, record }: DraftKey): Change => ["addKey", { ...record, digest: digestOf(apiKey).toHex() }];

/** Returns the details of a key's event: everything except the key itself. */
function keyDetails({ apiKey, record }: DraftKey) {
  const { id, label, scope, agents, networks, createdAt, expiresAt } = record;
  return {
    key_id: id,
    key_digest: digestOf(apiKey).toHex(),
    label,
    scope,
    agents: agents && [...agents],
    networks: networks && [...networks],
    created_at: showTime(createdAt),
    expires_at: showTimeOrNull(expiresAt),
  };
}
