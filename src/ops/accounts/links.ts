/**
 * One-time links: to create an account (`setup`), to join a workspace (`invitation`), to set a new password
 * (`reset`). Anyone who has a link can use it once, so a link is as secret as a key.
 */
import { type Clock, IdSource, RandomPool } from "../../ids.ts";
import type { Connection } from "../../store/connection.ts";
import type { ControlDatabase } from "../directory/database.ts";
import { makeLinkToken } from "../directory/secret.ts";
import { Table } from "../directory/table.ts";
import { hasAccounts } from "./accounts.ts";
import type { Role } from "./members.ts";

const DAY_MS = 86_400_000;
/** How long links of the operator are valid, and invitations by default, days. */
export const LINK_LIFETIME_DAYS = 7;
export const INVITATION_MAX_DAYS = 30;
/** The creator of the link that `serve` prints. */
const START_ACTOR = "system";

export type LinkKind = "setup" | "invitation" | "reset";

export interface LinkRecord {
  id: string;
  kind: LinkKind;
  /** The workspace and role of an invitation. */
  workspaceId: string | null;
  role: Role | null;
  /** The account whose password a reset sets. */
  accountId: string | null;
  /** Whether a reset also turns off the second factor. */
  dropsTotp: boolean;
  label: string | null;
  createdAt: number;
  createdBy: string;
  expiresAt: number;
}

/** The purpose of a new link. */
export type LinkRequest = Pick<LinkRecord, "kind" | "createdBy"> &
  Partial<Omit<LinkRecord, "id" | "createdAt" | "expiresAt">>;

export const LINKS = new Table<LinkRecord>("links", {
  id: "id",
  kind: "kind",
  workspaceId: "workspace_id",
  role: "role",
  accountId: "account_id",
  dropsTotp: { column: "drops_totp", as: "boolean" },
  label: "label",
  createdAt: "created_at",
  createdBy: "created_by",
  expiresAt: "expires_at",
});

/** SQL: the condition that a link can be used now. The present time is its parameter. */
export const USABLE = "used_at IS NULL AND revoked_at IS NULL AND expires_at > ?";

/** A new link, and its token, which is shown only once. */
export interface NewLink {
  link: LinkRecord;
  token: string;
}

/** Creates a link for the operator, without a record in the log. `first` runs in the same transaction. */
export async function createLink(
  control: ControlDatabase,
  clock: Clock,
  request: LinkRequest,
  first: (connection: Connection) => void = () => {},
): Promise<NewLink> {
  const { digest, ...made } = draftLink(new IdSource(clock), clock(), request);
  await control.change((connection) => {
    first(connection);
    LINKS.insert(connection, made.link, { digest: Uint8Array.fromHex(digest) });
  });
  return made;
}

/** Returns a new link, which is not stored yet, and its digest, hex. */
export function draftLink(ids: IdSource, now: number, request: LinkRequest, days = LINK_LIFETIME_DAYS) {
  const { text: token, digest } = makeLinkToken(new RandomPool());
  const link: LinkRecord = {
    workspaceId: null,
    role: null,
    accountId: null,
    dropsTotp: false,
    label: null,
    ...request,
    id: ids.next("inv"),
    createdAt: now,
    expiresAt: now + days * DAY_MS,
  };
  return { link, token, digest: digest.toHex() };
}

/** The names of a daemon, and of its predecessor on the same data directory; null for the only daemon. */
export interface Starts {
  name: string | null;
  before: string | null;
}

/**
 * Returns the token of a link for the first account; null when there is an account. The link replaces the links that
 * earlier starts on the data directory printed. Links that other nodes printed stay valid.
 */
export async function startLink(
  control: ControlDatabase,
  clock: Clock,
  { name, before }: Starts,
): Promise<string | null> {
  if (hasAccounts(control.connection)) return null;
  const now = clock();
  const sql = `UPDATE links SET revoked_at = ? WHERE created_by = ? AND label IS ? AND ${USABLE}`;
  const request = { kind: "setup", createdBy: START_ACTOR, label: name } as const;
  const replace = (connection: Connection) => void connection.run(sql, [now, START_ACTOR, before, now]);
  return (await createLink(control, clock, request, replace)).token;
}

/**
 * Finds a link that can be used now, by its digest. Only one of the links that starts printed can be used, on any node.
 */
export function findUsableLink(connection: Connection, digest: Uint8Array, now: number): LinkRecord | undefined {
  const link = LINKS.find(connection, `WHERE digest = ? AND ${USABLE}`, [digest, now]);
  if (link?.createdBy !== START_ACTOR) return link;
  const used = "SELECT 1 FROM links WHERE created_by = ? AND used_at IS NOT NULL";
  return connection.value(used, [START_ACTOR]) === undefined ? link : undefined;
}

/** Returns the invitations of a workspace that can still be used, newest first. */
export function listInvitations(connection: Connection, workspaceId: string, now: number): LinkRecord[] {
  const rest = `WHERE workspace_id = ? AND ${USABLE} ORDER BY created_at DESC, id DESC`;
  return LINKS.list(connection, rest, [workspaceId, now]);
}

/** Revokes all links that were neither used nor revoked. Returns how many there were. */
export function revokeUnusedLinks(connection: Connection, now: number): number {
  const sql = "UPDATE links SET revoked_at = ? WHERE used_at IS NULL AND revoked_at IS NULL";
  return connection.change(sql, [now]);
}
