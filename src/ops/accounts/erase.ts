/** Erases an account at its owner's wish: it leaves its workspaces, then its rows and the details of its events go. */
import { hasSecondFactor, meetsRequirement, NO_PASSWORD, type StoredAccount } from "../../core/rows/access/accounts.ts";
import { authorisedBy, type StoredSession } from "../../core/rows/access/sessions.ts";
import type { CodeProof } from "../../operation-facts.ts";
import { invalid, Problem } from "../../problem.ts";
import { type AccountParts, asAccount, withoutRow } from "./parts.ts";
import { withCode } from "./second-factor.ts";
import { confirmPassword, recordingFailures } from "./sign-in.ts";

/** What proves that the owner of an account sent the request. */
interface Credentials {
  password: string | undefined;
  code: string | undefined;
}

/**
 * Erases the account of a session. A crash on the way leaves an account with fewer workspaces, which can be erased again.
 * @throws {Problem} `invalid_request`, `password_wrong`, `second_factor_missing`, `second_factor_failed`, `last_owner`,
 * `rate_limited`; `unavailable` when a workspace that it may belong to cannot be read
 */
export async function eraseOwnAccount(
  parts: AccountParts,
  session: StoredSession,
  account: StoredAccount,
  credentials: Credentials,
): Promise<{ auditId: string | null }> {
  const erase = async (proof: CodeProof | null) => {
    await leaveAll(parts, session);
    const { auditId } = await parts.workspaces.change(asAccount(parts, account.id), "account.erase", {
      ...{ accountId: account.id, proof },
    });
    return { auditId };
  };
  const { connection } = parts.installation;
  if (account.password === NO_PASSWORD) {
    // The issuer keeps the factors, and says at a sign-in whether it asked for more than one.
    if (!(await meetsRequirement(connection, account.id))) throw factorMissing();
    return erase(null);
  }
  const { password, code } = credentials;
  if (password === undefined) throw invalid("Erasing the account needs its password.", "password");
  await confirmPassword(parts, session, password);
  if (!(await hasSecondFactor(connection, account))) throw factorMissing();
  if (code === undefined) throw invalid("Erasing the account needs a code of the second factor.", "code");
  return recordingFailures(parts, session, () => withCode(parts, account, code, erase));
}

const factorMissing = () =>
  new Problem(
    "second_factor_missing",
    "An account is erased with a second factor. Turn one on first (POST /account/totp), or ask the operator: governd account erase",
  );

/**
 * Ends all memberships of an account. Refuses before the first one when a workspace would be without an owner.
 * @throws {Problem} `last_owner`
 */
async function leaveAll({ memberships, workspaces }: AccountParts, session: StoredSession): Promise<void> {
  const { accountId } = session;
  const { memberships: own, unread } = await memberships.listReadable(accountId);
  const [unreadable] = unread.values();
  if (unreadable !== undefined) throw unreadable;
  for (const { id, name, role } of own) {
    if (role !== "owner") continue;
    const { data } = await workspaces.ask(id, "member.list", {});
    if (data.some((member) => member.role === "owner" && member.accountId !== accountId)) continue;
    throw new Problem(
      "last_owner",
      `You are the only owner of the workspace "${name}" (${id}). Make another member an owner first, or have the operator delete the workspace.`,
    );
  }
  for (const { id } of own) {
    await workspaces.change(withoutRow(accountId, id, authorisedBy(session)), "member.remove", { accountId });
  }
}
