/**
 * The changes of the control database by acts, as values that can be stored, since a change is applied after its act's
 * event is recorded, which may be after a restart.
 */
import type { Connection } from "../../store/connection.ts";
import { ACCOUNTS, insertAccount } from "../accounts/accounts.ts";
import { IDENTITIES, type IdentityRecord } from "../accounts/identities.ts";
import { LINKS, type LinkRecord, USABLE } from "../accounts/links.ts";
import { MEMBERS, type NewMember, type Role } from "../accounts/members.ts";
import { PASSKEYS, type PasskeyRecord, removePasskeyRow } from "../accounts/passkey-records.ts";
import { KEYS, type KeyRecord } from "./keys.ts";
import { changedOne } from "./table.ts";
import { WORKSPACES, type WorkspaceRecord } from "./workspaces.ts";

/** A record with its digest in hex, for JSON. */
type WithDigest<R> = R & { digest: string };

type Named<More = unknown> = { id: string } & More;
type MemberKey<More = unknown> = { workspaceId: string; accountId: string } & More;

const NO_TOTP = { totp_secret: null, totp_since: null, totp_step: 0 };
const OF_MEMBER = "workspace_id = ? AND account_id = ?";

/** The function of each kind of change. It returns false when the change does not match the stored rows. */
const CHANGES = {
  addWorkspace: (connection: Connection, workspace: WorkspaceRecord) => WORKSPACES.insert(connection, workspace),
  requireSecondFactor: (connection: Connection, { id, since }: Named<{ since: number | null }>) =>
    WORKSPACES.update(connection, { second_factor_since: since }, "id = ?", [id]),
  addKey: (connection: Connection, { digest, ...key }: WithDigest<KeyRecord>) =>
    KEYS.insert(connection, key, { digest: Uint8Array.fromHex(digest) }),
  replaceKey: (connection: Connection, { id, by, expiresAt }: Named<{ by: string; expiresAt: number }>) => {
    const set = { replaced_by: by, expires_at: expiresAt };
    return KEYS.update(connection, set, "id = ? AND revoked_at IS NULL AND replaced_by IS NULL", [id]);
  },
  revokeKey: (connection: Connection, { id, at, by }: Named<{ at: number; by: string }>) =>
    KEYS.update(connection, { revoked_at: at, revoked_by: by }, "id = ? AND revoked_at IS NULL", [id]),
  limitKey: (connection: Connection, { id, networks }: Named<{ networks: readonly string[] | null }>) =>
    KEYS.update(connection, { networks: networks && JSON.stringify(networks) }, "id = ? AND revoked_at IS NULL", [id]),
  addAccount: insertAccount,
  addMember: (connection: Connection, member: NewMember) => MEMBERS.insert(connection, member),
  setRole: (connection: Connection, { workspaceId, accountId, role }: MemberKey<{ role: Role }>) =>
    MEMBERS.update(connection, { role }, OF_MEMBER, [workspaceId, accountId]),
  removeMember: (connection: Connection, { workspaceId, accountId }: MemberKey) => {
    connection.run(`DELETE FROM issued_roles WHERE ${OF_MEMBER}`, [workspaceId, accountId]);
    return changedOne(connection, `DELETE FROM members WHERE ${OF_MEMBER}`, [workspaceId, accountId]);
  },
  /** Records that a member's role came from the issuer's groups. */
  issueRole: (connection: Connection, { workspaceId, accountId }: MemberKey) =>
    void connection.run("INSERT INTO issued_roles (workspace_id, account_id) VALUES (?, ?)", [workspaceId, accountId]),
  addIdentity: (connection: Connection, identity: IdentityRecord) => IDENTITIES.insert(connection, identity),
  dropIdentity: (connection: Connection, { issuer, subject }: { issuer: string; subject: string }) =>
    changedOne(connection, "DELETE FROM identities WHERE issuer = ? AND subject = ?", [issuer, subject]),
  chooseIssuerOnly: (connection: Connection, { only }: { only: boolean }) =>
    changedOne(connection, "UPDATE issuer_only SET chosen = ?", [only ? 1 : 0]),
  addLink: (connection: Connection, { digest, ...link }: WithDigest<LinkRecord>) =>
    LINKS.insert(connection, link, { digest: Uint8Array.fromHex(digest) }),
  takeLink: (connection: Connection, { id, by, at }: Named<{ by: string; at: number }>) =>
    LINKS.update(connection, { used_at: at, used_by: by }, `id = ? AND ${USABLE}`, [id, at]),
  revokeInvitation: (connection: Connection, { workspaceId, id, at }: Named<{ workspaceId: string; at: number }>) =>
    LINKS.update(connection, { revoked_at: at }, `workspace_id = ? AND id = ? AND ${USABLE}`, [workspaceId, id, at]),
  renameAccount: (connection: Connection, { id, name }: Named<{ name: string }>) =>
    ACCOUNTS.update(connection, { name }, "id = ?", [id]),
  setPassword: (connection: Connection, { id, password, at }: Named<{ password: string; at: number }>) =>
    ACCOUNTS.update(connection, { password, password_changed_at: at }, "id = ?", [id]),
  /** Stores the encrypted secret of a new second factor. Codes are not required until it is confirmed. */
  beginTotp: (connection: Connection, { id, secret }: Named<{ secret: string }>) =>
    ACCOUNTS.update(connection, { ...NO_TOTP, totp_secret: secret }, "id = ?", [id]),
  confirmTotp: (connection: Connection, { id, at }: Named<{ at: number }>) =>
    ACCOUNTS.update(connection, { totp_since: at }, "id = ?", [id]),
  /** Removes the second factor and its recovery codes. */
  dropTotp: (connection: Connection, { id }: Named) => {
    ACCOUNTS.update(connection, NO_TOTP, "id = ?", [id]);
    setRecoveryCodes(connection, { id, digests: [] });
  },
  setRecoveryCodes,
  addPasskey: (connection: Connection, passkey: PasskeyRecord) => PASSKEYS.insert(connection, passkey),
  removePasskey: (connection: Connection, { accountId, id }: Named<{ accountId: string }>) =>
    removePasskeyRow(connection, accountId, id),
  dropPasskeys: (connection: Connection, { id }: Named) =>
    void connection.run("DELETE FROM passkeys WHERE account_id = ?", [id]),
  /** Ends a session, which may have ended already. */
  endSession: (connection: Connection, { accountId, id }: Named<{ accountId: string }>) =>
    void connection.run("DELETE FROM sessions WHERE account_id = ? AND id = ?", [accountId, id]),
  /** Ends all sessions of an account except `keep`. */
  endOtherSessions: (connection: Connection, { accountId, keep }: { accountId: string; keep: string | null }) =>
    void connection.run("DELETE FROM sessions WHERE account_id = ? AND id IS NOT ?", [accountId, keep]),
  /** Ends the sessions that began at the issuer: all of them, or those of one session there. */
  endIssuerSessions: (connection: Connection, { accountId, session }: { accountId: string; session: string | null }) =>
    void connection.run(
      "DELETE FROM sessions WHERE account_id = ? AND issuer_session IS NOT NULL AND (? IS NULL OR issuer_session = ?)",
      [accountId, session, session],
    ),
  forgetDevices: (connection: Connection, { id }: Named) =>
    void connection.run("DELETE FROM devices WHERE account_id = ?", [id]),
} satisfies Record<string, (connection: Connection, input: never) => unknown>;

function setRecoveryCodes(connection: Connection, { id, digests }: Named<{ digests: readonly string[] }>): void {
  connection.run("DELETE FROM recovery_codes WHERE account_id = ?", [id]);
  for (const digest of digests) {
    const values = [id, Uint8Array.fromHex(digest)];
    connection.run("INSERT INTO recovery_codes (account_id, digest) VALUES (?, ?)", values);
  }
}

type Changes = typeof CHANGES;

/** One change: its kind and its input, in JSON values. */
export type Change = { [K in keyof Changes]: [kind: K, input: Parameters<Changes[K]>[1]] }[keyof Changes];

/** Applies changes in their order. @throws when a change does not match the stored rows, which would be a defect */
export function applyChanges(connection: Connection, changes: readonly Change[]): void {
  for (const [kind, input] of changes) {
    const apply = CHANGES[kind] as (connection: Connection, input: Change[1]) => unknown;
    if (apply(connection, input) === false) throw new Error(`the change ${kind} does not fit the database`);
  }
}
