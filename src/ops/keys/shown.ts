/** Shows API keys, and finds them for the daemon: reads are not recorded. */
import type { Static } from "@sinclair/typebox";
import { findKeyByDigest, keyState, listKeys, type StoredKey } from "../../core/rows/access/keys.ts";
import type { Answer } from "../../core/writer/contract.ts";
import type { LookContext } from "../../core/writer/operation.ts";
import { showTime, showTimeOrNull } from "../../ids.ts";
import type { OperationInputs } from "../../operations.ts";
import type { Reader } from "../../store/transaction.ts";
import type { KeyShape } from "../accounts/routes/schema.ts";

/** A key as it is shown; the key itself cannot be. */
export type ShownKey = Static<typeof KeyShape>;

export function shownKey(key: StoredKey, nowMs: number): ShownKey {
  return {
    id: key.id,
    label: key.label,
    scope: key.scope,
    agents: key.agents && [...key.agents],
    networks: key.networks && [...key.networks],
    state: keyState(key, nowMs),
    created_at: showTime(key.createdAt),
    created_by: key.createdBy,
    expires_at: showTimeOrNull(key.expiresAt),
    last_used_at: showTimeOrNull(key.lastUsedAt),
    revoked_at: showTimeOrNull(key.revokedAt),
    replaced_by: key.replacedBy,
  };
}

export async function showKeys(reader: Reader, { nowMs }: Pick<LookContext, "nowMs">): Promise<Answer> {
  const data = (await listKeys(reader)).map((key) => shownKey(key, nowMs));
  return { kind: "json", status: 200, body: JSON.stringify({ data }) };
}

/** Answers with the key that has this digest, in force or ended; null when there is none. */
export async function showKeyOfDigest(
  reader: Reader,
  _context: unknown,
  { digest }: OperationInputs["key.find"],
): Promise<Answer> {
  return { kind: "json", status: 200, body: JSON.stringify((await findKeyByDigest(reader, digest)) ?? null) };
}
