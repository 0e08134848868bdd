/** What a restore makes of the ways in which people sign in, which are in the file of the installation. */
import { listAccounts, listIdentities, listPasskeys, NO_PASSWORD } from "../core/rows/access/accounts.ts";
import { listUnusedLinks } from "../core/rows/access/links.ts";
import { listStoredSessions } from "../core/rows/access/sessions.ts";
import type { Connection } from "../store/connection.ts";
import type { Losses } from "./losses.ts";
import type { Perform } from "./perform.ts";

/** Ends all sessions and all links that were not used: they may have ended, or been used, since. Returns how many. */
export async function endSessionsAndLinks(
  reader: Connection,
  perform: Perform,
): Promise<{ sessions: number; links: number }> {
  let sessions = 0;
  for (const { id: accountId } of await listAccounts(reader)) {
    const open = (await listStoredSessions(reader, accountId)).length;
    if (open > 0) await perform("account.end_sessions", { accountId, which: { allBut: null } });
    sessions += open;
  }
  const links = await listUnusedLinks(reader);
  for (const { id: linkId } of links) await perform("account.unlink", { linkId });
  return { sessions, links: links.length };
}

/**
 * Applies the losses of the log of the installation to the accounts. A changed password is void: the one in the copy may be
 * known, and nobody has the new one's hash.
 */
export async function applyToAccounts(reader: Connection, perform: Perform, losses: Losses): Promise<void> {
  const isLost = (accountId: string, id: string) => losses.factors.has(accountId) || losses.passkeys.has(id);
  for (const { id: accountId } of await listAccounts(reader)) {
    if (losses.accounts.has(accountId)) {
      await perform("account.erase", { accountId, proof: null });
      continue;
    }
    if (losses.passwords.has(accountId)) {
      await perform("account.change_password", { accountId, from: null, password: NO_PASSWORD, keep: null });
    }
    for (const { id: passkeyId } of await listPasskeys(reader, accountId)) {
      if (isLost(accountId, passkeyId)) await perform("account.remove_passkey", { accountId, passkeyId });
    }
    for (const { issuer } of await listIdentities(reader, accountId)) {
      const isUnlinked = losses.identities.some((one) => one.accountId === accountId && one.issuer === issuer);
      if (isUnlinked) await perform("account.unlink_identity", { accountId, issuer });
    }
  }
  if (losses.issuerOnly) await perform("account.require_issuer", { only: true });
}
