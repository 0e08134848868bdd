/**
 * What acts change in the control database, as values that can be stored: a change is applied after the event of its
 * act is recorded, which may be after a restart.
 */
import type { Connection } from "../store/connection.ts";
import {
  type AccountRecord,
  beginTotp,
  confirmTotp,
  dropTotp,
  forgetDevices,
  insertAccount,
  replaceRecoveryCodes,
  setPassword,
} from "./accounts/accounts.ts";
import { insertLink, type LinkRecord, revokeInvitation, takeLink } from "./accounts/links.ts";
import { deleteMember, insertMember, type NewMember, type Role, setRole } from "./accounts/members.ts";
import { deleteOtherSessions, deleteSession } from "./accounts/sessions.ts";
import { insertKey, type KeyRecord, markReplaced, markRevoked } from "./keys.ts";
import { insertWorkspace, type WorkspaceRecord } from "./workspaces.ts";

/** A digest as JSON can hold it, hex. */
type WithDigest<R> = R & { digest: string };

/** Each kind of change. A function returns false when the change does not fit what is stored. */
const CHANGES = {
  addWorkspace: (connection: Connection, workspace: WorkspaceRecord) => insertWorkspace(connection, workspace),
  addKey: (connection: Connection, { digest, ...key }: WithDigest<KeyRecord>) =>
    insertKey(connection, key, Uint8Array.fromHex(digest)),
  replaceKey: (connection: Connection, { id, by, expiresAt }: { id: string; by: string; expiresAt: number }) =>
    markReplaced(connection, id, by, expiresAt),
  revokeKey: (connection: Connection, { id, at, by }: { id: string; at: number; by: string }) =>
    markRevoked(connection, id, at, by),
  addAccount: (connection: Connection, account: AccountRecord) => insertAccount(connection, account),
  addMember: (connection: Connection, member: NewMember) => insertMember(connection, member),
  setRole: (
    connection: Connection,
    { workspaceId, accountId, role }: { workspaceId: string; accountId: string; role: Role },
  ) => setRole(connection, workspaceId, accountId, role),
  removeMember: (connection: Connection, { workspaceId, accountId }: { workspaceId: string; accountId: string }) =>
    deleteMember(connection, workspaceId, accountId),
  addLink: (connection: Connection, { digest, ...link }: WithDigest<LinkRecord>) =>
    insertLink(connection, link, Uint8Array.fromHex(digest)),
  takeLink: (connection: Connection, { id, by, at }: { id: string; by: string; at: number }) =>
    takeLink(connection, id, by, at),
  revokeInvitation: (
    connection: Connection,
    { workspaceId, id, at }: { workspaceId: string; id: string; at: number },
  ) => revokeInvitation(connection, workspaceId, id, at),
  setPassword: (connection: Connection, { id, password, at }: { id: string; password: string; at: number }) =>
    setPassword(connection, id, password, at),
  beginTotp: (connection: Connection, { id, secret }: { id: string; secret: string }) =>
    beginTotp(connection, id, secret),
  confirmTotp: (connection: Connection, { id, at }: { id: string; at: number }) => confirmTotp(connection, id, at),
  dropTotp: (connection: Connection, { id }: { id: string }) => dropTotp(connection, id),
  setRecoveryCodes: (connection: Connection, { id, digests }: { id: string; digests: readonly string[] }) =>
    replaceRecoveryCodes(
      connection,
      id,
      digests.map((digest) => Uint8Array.fromHex(digest)),
    ),
  endSession: (connection: Connection, { accountId, id }: { accountId: string; id: string }) =>
    void deleteSession(connection, accountId, id),
  endOtherSessions: (connection: Connection, { accountId, keep }: { accountId: string; keep: string | null }) =>
    void deleteOtherSessions(connection, accountId, keep),
  forgetDevices: (connection: Connection, { id }: { id: string }) => forgetDevices(connection, id),
} satisfies Record<string, (connection: Connection, input: never) => unknown>;

type Changes = typeof CHANGES;

/** One change: its kind, and what it is about. It consists of JSON values. */
export type Change = { [K in keyof Changes]: [kind: K, input: Parameters<Changes[K]>[1]] }[keyof Changes];

/** Applies changes in their order. @throws when one does not fit what is stored, which would be a defect */
export function applyChanges(connection: Connection, changes: readonly Change[]): void {
  for (const [kind, input] of changes) {
    const apply = CHANGES[kind] as (connection: Connection, input: Change[1]) => unknown;
    if (apply(connection, input) === false) throw new Error(`the change ${kind} does not fit the database`);
  }
}
