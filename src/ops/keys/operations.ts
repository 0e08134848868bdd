/** The operations on API keys. What they change is stated by their events (log/row-effects.ts). */
import { isDeepStrictEqual } from "node:util";
import { findKey, keyState, type StoredKey } from "../../core/rows/access/keys.ts";
import { type Context, changedRows, type OperationsOf, type Run, unchanged } from "../../core/writer/operation.ts";
import { showTime } from "../../ids.ts";
import { Problem } from "../../problem.ts";
import type { Reader } from "../../store/transaction.ts";
import { makeKey, refuseBadNetworks } from "./new-key.ts";
import { shownKey } from "./shown.ts";

const createKey: Run<"key.create"> = (_reader, context, request) => {
  const { apiKey, expiresAt, details } = makeKey(context, request);
  const key = newKey(context, { ...request, id: details.key_id, expiresAt });
  const body = bodyOf(context, key, { api_key: apiKey });
  return changedRows("key.create", context, details, body, { status: 201 });
};

/**
 * Replaces a key by a new one with the same label, scope, agents, networks and lifetime. The old key stays valid for the
 * overlap, so that its users can switch. A key is replaced only once.
 */
const rotateKey: Run<"key.rotate"> = async (reader, context, { keyId, overlapMs }) => {
  const old = await requireKeyInForce(reader, context, keyId);
  if (old.replacedBy !== null) throw ended(REPLACED);
  const { label, scope, agents, networks, createdAt } = old;
  const expiresInMs = old.expiresAt === null ? null : old.expiresAt - createdAt;
  const { apiKey, expiresAt, details } = makeKey(context, { label, scope, agents, networks, expiresInMs });
  const oldEnd = showTime(Math.min(context.nowMs + overlapMs, old.expiresAt ?? Number.POSITIVE_INFINITY));
  const key = newKey(context, { label, scope, agents, networks, id: details.key_id, expiresAt });
  const body = bodyOf(context, key, { api_key: apiKey, replaces: keyId, replaced_expires_at: oldEnd });
  const stated = { ...details, replaces: keyId, replaced_expires_at: oldEnd };
  return changedRows("key.rotate", context, stated, body, { status: 201 });
};

/** Limits a key to networks, at once; null ends the limit. */
const changeKey: Run<"key.change"> = async (reader, context, { keyId, networks }) => {
  refuseBadNetworks(networks);
  const key = await requireKeyInForce(reader, context, keyId);
  if (isDeepStrictEqual(key.networks, networks)) return sameKey(context, key);
  const details = { key_id: keyId, networks: networks && [...networks] };
  return changedRows("key.change", context, details, bodyOf(context, { ...key, networks }));
};

/** Revokes a key at once and for good. Revoking it again changes nothing. */
const revokeKey: Run<"key.revoke"> = async (reader, context, { keyId }) => {
  const key = await requireKey(reader, keyId);
  if (key.revokedAt !== null) return sameKey(context, key);
  const body = bodyOf(context, { ...key, revokedAt: context.nowMs });
  return changedRows("key.revoke", context, { key_id: keyId }, body);
};

const bodyOf = ({ nowMs, auditId }: Pick<Context, "nowMs" | "auditId">, key: StoredKey, more: object = {}): string =>
  JSON.stringify({ ...shownKey(key, nowMs), ...more, audit_id: auditId });

const sameKey = ({ nowMs }: Context, key: StoredKey) =>
  unchanged(JSON.stringify({ ...shownKey(key, nowMs), audit_id: null }));

type New = Pick<StoredKey, "id" | "label" | "scope" | "agents" | "networks" | "expiresAt">;

const newKey = ({ nowMs, principal }: Context, key: New): StoredKey => ({
  ...{ ...key, createdAt: nowMs, createdBy: principal.actor, lastUsedAt: null, revokedAt: null, replacedBy: null },
});

async function requireKey(reader: Reader, id: string): Promise<StoredKey> {
  const key = await findKey(reader, id);
  if (key === undefined) throw new Problem("key_not_found", "The workspace has no such key.");
  return key;
}

async function requireKeyInForce(reader: Reader, { nowMs }: Context, id: string): Promise<StoredKey> {
  const key = await requireKey(reader, id);
  if (keyState(key, nowMs) !== "in_force") throw ended(ENDED);
  return key;
}

const ended = (detail: string) => new Problem("key_ended", detail);
const ENDED = "The key is already revoked or expired. Create a new key instead of rotating or changing this one.";
const REPLACED = "The key was already rotated. Rotate the key that replaced it, or create a new one.";

export const keyOperations: OperationsOf<"key"> = {
  "key.create": { run: createKey },
  "key.change": { run: changeKey },
  "key.revoke": { run: revokeKey },
  "key.rotate": { run: rotateKey },
};
