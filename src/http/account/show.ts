/** Records of the control database as the API shows them. */

import type { Static } from "@sinclair/typebox";
import { type AccountRecord, countRecoveryCodes } from "../../control/accounts/accounts.ts";
import type { LinkRecord } from "../../control/accounts/links.ts";
import type { MemberRecord, Membership, Role } from "../../control/accounts/members.ts";
import type { AccountParts } from "../../control/accounts/parts.ts";
import { type SessionRecord, sessionEnd } from "../../control/accounts/sessions.ts";
import { type KeyRecord, keyState } from "../../control/keys.ts";
import type { AccountShape, InvitationShape, KeyShape, MemberShape, SessionShape, WorkspaceShape } from "./schema.ts";

const time = (ms: number): string => new Date(ms).toISOString();
const timeOrNull = (ms: number | null): string | null => (ms === null ? null : time(ms));

export function showAccount({ control }: AccountParts, account: AccountRecord): Static<typeof AccountShape> {
  return {
    id: account.id,
    email: account.email,
    name: account.name,
    totp: account.totpSince !== null,
    recovery_codes_left: countRecoveryCodes(control.connection, account.id),
    created_at: time(account.createdAt),
  };
}

export function showSession(session: SessionRecord, currentId: string): Static<typeof SessionShape> {
  return {
    id: session.id,
    created_at: time(session.createdAt),
    last_seen_at: time(session.lastSeenAt),
    expires_at: time(sessionEnd(session)),
    address: session.address,
    user_agent: session.userAgent,
    current: session.id === currentId,
  };
}

export function showWorkspace({ id, name, role, createdAt }: Membership): Static<typeof WorkspaceShape> {
  return { id, name, role, created_at: time(createdAt) };
}

export function showMember(member: MemberRecord, you: string): Static<typeof MemberShape> {
  return {
    account_id: member.accountId,
    email: member.email,
    name: member.name,
    role: member.role,
    joined_at: time(member.joinedAt),
    you: member.accountId === you,
  };
}

export function showInvitation(link: LinkRecord): Static<typeof InvitationShape> {
  return {
    id: link.id,
    // Only links of another kind have none.
    role: link.role as Role,
    label: link.label,
    created_at: time(link.createdAt),
    created_by: link.createdBy,
    expires_at: time(link.expiresAt),
  };
}

export function showKey(key: KeyRecord, now: number): Static<typeof KeyShape> {
  return {
    id: key.id,
    label: key.label,
    scope: key.scope,
    agents: key.agents && [...key.agents],
    state: keyState(key, now),
    created_at: time(key.createdAt),
    created_by: key.createdBy,
    expires_at: timeOrNull(key.expiresAt),
    last_used_at: timeOrNull(key.lastUsedAt),
    revoked_at: timeOrNull(key.revokedAt),
    replaced_by: key.replacedBy,
  };
}
