/** Records of the control database as the API shows them. */
import type { Static } from "@sinclair/typebox";
import { showTime, showTimeOrNull } from "../../../ids.ts";
import { type KeyRecord, keyState } from "../../directory/keys.ts";
import { type AccountRecord, countRecoveryCodes } from "../accounts.ts";
import type { LinkRecord } from "../links.ts";
import { listMemberships, type MemberRecord, type Membership, type Role } from "../members.ts";
import { findOperator } from "../operators.ts";
import type { AccountParts } from "../parts.ts";
import { countPasskeys, type PasskeyRecord } from "../passkey-records.ts";
import { type SessionRecord, sessionEnd } from "../sessions.ts";
import type { PasskeyShape } from "./passkey-schema.ts";
import type * as schema from "./schema.ts";

export function showAccount({ control }: AccountParts, account: AccountRecord): Static<typeof schema.AccountShape> {
  return {
    id: account.id,
    email: account.email,
    name: account.name,
    totp: account.totpSince !== null,
    passkeys: countPasskeys(control.connection, account.id),
    recovery_codes_left: countRecoveryCodes(control.connection, account.id),
    created_at: showTime(account.createdAt),
  };
}

export const showPasskey = (passkey: PasskeyRecord): Static<typeof PasskeyShape> => ({
  id: passkey.id,
  name: passkey.name,
  host: passkey.rpId,
  created_at: showTime(passkey.createdAt),
  last_used_at: showTimeOrNull(passkey.lastUsedAt),
});

export function showSession(session: SessionRecord, currentId: string): Static<typeof schema.SessionShape> {
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

export function showSignedIn(
  parts: AccountParts,
  account: AccountRecord,
  session: SessionRecord,
): Static<typeof schema.WhoAmI> {
  const { connection } = parts.control;
  const operator = findOperator(connection, account.id);
  return {
    account: showAccount(parts, account),
    session: showSession(session, session.id),
    workspaces: listMemberships(connection, account.id).map(showWorkspace),
    installation: operator && showWorkspace(operator),
    ca_file: parts.caFile,
  };
}

export function showWorkspace(membership: Membership): Static<typeof schema.WorkspaceShape> {
  const { id, name, role, createdAt, requiresSecondFactor, locked } = membership;
  const factor = { requires_second_factor: requiresSecondFactor, locked };
  return { id, name, role, created_at: showTime(createdAt), ...factor };
}

export function showMember(member: MemberRecord, you: string): Static<typeof schema.MemberShape> {
  return {
    account_id: member.accountId,
    email: member.email,
    name: member.name,
    role: member.role,
    joined_at: showTime(member.joinedAt),
    you: member.accountId === you,
  };
}

export function showInvitation(link: LinkRecord): Static<typeof schema.InvitationShape> {
  return {
    id: link.id,
    // Only links of another kind have none.
    role: link.role as Role,
    label: link.label,
    created_at: showTime(link.createdAt),
    created_by: link.createdBy,
    expires_at: showTime(link.expiresAt),
  };
}

export function showKey(key: KeyRecord, now: number): Static<typeof schema.KeyShape> {
  return {
    id: key.id,
    label: key.label,
    scope: key.scope,
    agents: key.agents && [...key.agents],
    networks: key.networks && [...key.networks],
    state: keyState(key, now),
    created_at: showTime(key.createdAt),
    created_by: key.createdBy,
    expires_at: showTimeOrNull(key.expiresAt),
    last_used_at: showTimeOrNull(key.lastUsedAt),
    revoked_at: showTimeOrNull(key.revokedAt),
    replaced_by: key.replacedBy,
  };
}
