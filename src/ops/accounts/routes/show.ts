/** Accounts, sessions and workspaces as the API shows them. */
import type { Static } from "@sinclair/typebox";
import {
  findAccount,
  hasTotp,
  listPasskeys,
  type StoredAccount,
  type StoredPasskey,
} from "../../../core/rows/access/accounts.ts";
import type { StoredMember } from "../../../core/rows/access/members.ts";
import { type StoredSession, sessionEnd } from "../../../core/rows/access/sessions.ts";
import { showTime, showTimeOrNull } from "../../../ids.ts";
import type { Membership } from "../memberships.ts";
import type { AccountParts } from "../parts.ts";
import type { PasskeyShape } from "./passkey-schema.ts";
import type * as schema from "./schema.ts";

export async function showAccount(
  { installation }: AccountParts,
  account: StoredAccount,
): Promise<Static<typeof schema.AccountShape>> {
  return {
    id: account.id,
    email: account.email,
    name: account.name,
    totp: hasTotp(account),
    passkeys: (await listPasskeys(installation.connection, account.id)).length,
    recovery_codes_left: account.codes.length,
    created_at: showTime(account.createdAt),
  };
}

export const showPasskey = (passkey: StoredPasskey): Static<typeof PasskeyShape> => ({
  id: passkey.id,
  name: passkey.name,
  host: passkey.host,
  created_at: showTime(passkey.createdAt),
  last_used_at: showTimeOrNull(passkey.lastUsedAt),
});

export function showSession(session: StoredSession, currentId: string): Static<typeof schema.SessionShape> {
  return {
    id: session.id,
    created_at: showTime(session.createdAt),
    last_seen_at: showTime(session.lastSeenAt),
    expires_at: showTime(sessionEnd(session)),
    address: session.address,
    user_agent: session.userAgent,
    current: session.id === currentId,
  };
}

export async function showSignedIn(
  parts: AccountParts,
  account: StoredAccount,
  session: StoredSession,
): Promise<Static<typeof schema.WhoAmI>> {
  const { memberships } = parts;
  const operator = await memberships.findOperator(account.id);
  return {
    account: await showAccount(parts, account),
    session: showSession(session, session.id),
    workspaces: (await memberships.list(account.id)).map(showWorkspace),
    installation: operator && showWorkspace(operator),
    ca_file: parts.caFile,
  };
}

export function showWorkspace(membership: Membership): Static<typeof schema.WorkspaceShape> {
  const { id, name, role, createdAt, requiresSecondFactor, locked } = membership;
  const factor = { requires_second_factor: requiresSecondFactor, locked };
  return { id, name, role, created_at: showTime(createdAt), ...factor };
}

/** Returns members as the API shows them, without accounts that are not there. */
export async function showMembers(
  { installation }: AccountParts,
  members: readonly StoredMember[],
  you: string,
): Promise<Static<typeof schema.MemberShape>[]> {
  const shown: Static<typeof schema.MemberShape>[] = [];
  for (const { accountId, role, joinedAt } of members) {
    const account = await findAccount(installation.connection, accountId);
    if (account === undefined) continue;
    const { email, name } = account;
    shown.push({ account_id: accountId, email, name, role, joined_at: showTime(joinedAt), you: accountId === you });
  }
  return shown;
}
