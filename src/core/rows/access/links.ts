/** One-time links as the file of the installation has them: rows that events state. */
import { SYSTEM } from "../../../log/event.ts";
import type { Reader } from "../../../store/transaction.ts";
import { hasAccounts } from "./accounts.ts";

/** The purpose of a link: to create an account with its own workspace (`setup`), or to set a new password (`reset`). */
export type LinkKind = "setup" | "reset";

/** A link that can be used: it was not used, has not been ended, and has not expired. Times are ms since the Unix epoch. */
interface OpenLink {
  id: string;
  kind: LinkKind;
  /** The account whose password a reset sets. */
  accountId: string | null;
  /** Whether a reset also ends the second factor. */
  endsSecondFactor: boolean;
  /** `cli`, or `system` for the one that a start prints. */
  createdBy: string;
  expiresAt: number;
}

const LINK = `SELECT l.id, l.kind, l.account_id, l.second_factor_ends, c.actor, l.expires_at
  FROM links l JOIN events c ON c.seq = l.created_seq WHERE l.ended_seq IS NULL`;

type LinkRow = [
  ...[id: string, kind: LinkKind, accountId: string | null],
  ...[ends: number, createdBy: string, expiresAt: number],
];

const linkOf = ([id, kind, accountId, ends, createdBy, expiresAt]: LinkRow): OpenLink => ({
  ...{ id, kind, accountId, endsSecondFactor: ends === 1, createdBy, expiresAt },
});

/** Finds an open link by the SHA-256 of its token, hex. A link that a start printed ends with the first account. */
export async function findOpenLink(reader: Reader, digest: string, nowMs: number): Promise<OpenLink | undefined> {
  const row = await reader.get<LinkRow>(`${LINK} AND l.digest = ? AND l.expires_at > ?`, [digest, nowMs]);
  const link = row && linkOf(row);
  return link?.createdBy === SYSTEM && (await hasAccounts(reader)) ? undefined : link;
}

/** Returns the links that were neither used nor ended, also those that have expired. */
export async function listUnusedLinks(reader: Reader): Promise<OpenLink[]> {
  return (await reader.all<LinkRow>(`${LINK} ORDER BY l.created_seq`)).map(linkOf);
}

/** Reports whether a link is one that makes an account with its own workspace. */
export const isSetupLink = async (reader: Reader, id: string): Promise<boolean> =>
  (await reader.value("SELECT 1 FROM links WHERE id = ? AND kind = 'setup'", [id])) !== undefined;
