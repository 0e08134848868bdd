/** The operations on accounts: making them, their names, passwords, authenticators and recovery codes. */

import { eventsOfAccount, linksUsedBy } from "../../../core/rows/access/account-erasure.ts";
import {
  findAccount,
  findAccountByEmail,
  findAccountByLink,
  findIdentity,
  hasSecondFactor,
  hasTotp,
  listPasskeys,
  type StoredAccount,
} from "../../../core/rows/access/accounts.ts";
import { findOpenLink } from "../../../core/rows/access/links.ts";
import { findMember } from "../../../core/rows/access/members.ts";
import { sessionIds } from "../../../core/rows/access/sessions.ts";
import { type Context, changedRows, done, type Run, unchanged } from "../../../core/writer/operation.ts";
import type { JsonObject } from "../../../json.ts";
import { boundDigest, type Cells, ROW_TABLES, type RowTableName } from "../../../log/row-effects.ts";
import type { CodeProof } from "../../../operation-facts.ts";
import type { RowsOperation } from "../../../operations.ts";
import { Problem } from "../../../problem.ts";
import type { Reader } from "../../../store/transaction.ts";
import { linkNotFound } from "../../members/operations.ts";

/** The columns of an account that its events bind by a digest. */
type Content = Omit<StoredAccount, "id" | "createdAt" | "linkId">;

/** Returns the bound columns of a row with a new salt, and their digest. */
export function bind(table: RowTableName, columns: Cells, { newSalt }: Pick<Context, "newSalt">) {
  const contents = { ...columns, salt: newSalt() };
  return { contents, digest: boundDigest(ROW_TABLES[table], contents) as string };
}

/** As {@link bind}, for an account. */
export const bindAccount = (account: Content, context: Pick<Context, "newSalt">) =>
  bind(
    "accounts",
    {
      codes: JSON.stringify([...account.codes].sort()),
      email: account.email,
      name: account.name,
      password: account.password,
      password_changed_at: account.passwordChangedAt,
      totp_secret: account.totpSecret,
      totp_since: account.totpSince,
      totp_step: account.totpStep,
    },
    context,
  );

/** Returns the outcome of a change of an account. */
function changed(
  operation: RowsOperation,
  context: Context,
  { id, ...account }: StoredAccount,
  more: JsonObject = {},
  body: JsonObject = {},
) {
  const { contents, digest } = bindAccount(account, context);
  const details = { account_id: id, account_digest: digest, ...more };
  const answer = JSON.stringify({ ...body, audit_id: context.auditId });
  return changedRows(operation, context, details, answer, { contents: { accounts: contents } });
}

export async function requireAccount(reader: Reader, id: string): Promise<StoredAccount> {
  const account = await findAccount(reader, id);
  if (account === undefined) throw new Problem("not_found", "There is no such account any more.");
  return account;
}

export const emailTaken = () =>
  new Problem(
    "email_taken",
    "There is already an account with this mail address. Sign in with it; you can then accept an invitation.",
    { param: "email" },
  );

/** Makes an account. A link, an invitation and an identity make one each. */
export const createAccount: Run<"account.create"> = async (reader, context, request) => {
  const { id, email, name, password, way, address } = request;
  if ((await findAccountByEmail(reader, email)) !== undefined) throw emailTaken();
  const none = { codes: [], totpSecret: null, totpSince: null, totpStep: 0 };
  const { contents, digest } = bindAccount(
    { email, name, password, passwordChangedAt: context.nowMs, ...none },
    context,
  );
  const from = await wayIn(reader, context, way);
  const details = { account_id: id, account_digest: digest, ...from.details, ...address };
  return changedRows("account.create", context, details, done(context), {
    contents: { accounts: contents, ...from.contents },
    status: 201,
  });
};

/** Returns what the event states of what allows an account. @throws {Problem} `link_not_found`, `forbidden` */
async function wayIn(reader: Reader, context: Context, way: Parameters<typeof createAccount>[2]["way"]) {
  if (way === null) return { details: { link_id: null } };
  if ("link" in way) {
    const link = await findOpenLink(reader, way.link, context.nowMs);
    if (link?.kind !== "setup") throw linkNotFound();
    return { details: { link_id: link.id } };
  }
  if ("invitationId" in way) {
    if ((await findAccountByLink(reader, way.invitationId)) !== undefined) throw linkNotFound();
    return { details: { link_id: null, invitation_id: way.invitationId } };
  }
  const { issuer, subject } = way;
  if ((await findIdentity(reader, issuer, subject)) !== undefined) {
    throw new Problem("forbidden", "The identity has just been linked to another account. Sign in again.");
  }
  const { contents, digest } = bind("identities", { issuer, subject }, context);
  return {
    details: { link_id: null, identity_id: context.ids.next("idn"), identity_digest: digest, issuer },
    contents: { identities: contents },
  };
}

export const renameAccount: Run<"account.rename"> = async (reader, context, { accountId, name }) => {
  const account = await requireAccount(reader, accountId);
  if (account.name === name) return unchanged();
  return changed("account.rename", context, { ...account, name });
};

/** Sets a password, and ends the sessions but the one to keep. @param from the password that it replaces; null for any */
export const changePassword: Run<"account.change_password"> = async (reader, context, request) => {
  const { accountId, from, password, keep } = request;
  const account = await requireAccount(reader, accountId);
  if (from !== null && account.password !== from) {
    throw new Problem("password_wrong", "The password was changed meanwhile. Sign in again.");
  }
  const sessions = await sessionIds(reader, accountId, { allBut: keep });
  const next = { ...account, password, passwordChangedAt: context.nowMs };
  return changed("account.change_password", context, next, { sessions_ended: sessions });
};

/** Sets a password with a link, and ends all sessions; with some links, the second factor, too. */
export const resetPassword: Run<"account.reset_password"> = async (reader, context, { digest, password, address }) => {
  const link = await findOpenLink(reader, digest, context.nowMs);
  if (link?.kind !== "reset" || link.accountId === null) throw linkNotFound();
  const { id, accountId, endsSecondFactor } = link;
  const account = await requireAccount(reader, accountId);
  const passkeys = endsSecondFactor ? await listPasskeys(reader, accountId) : [];
  const next = { ...account, ...(endsSecondFactor && { ...NO_TOTP, codes: [] }) };
  return changed(
    "account.reset_password",
    context,
    { ...next, password, passwordChangedAt: context.nowMs },
    {
      link_id: id,
      second_factor_ended: endsSecondFactor,
      passkeys_ended: passkeys.map((passkey) => passkey.id),
      sessions_ended: await sessionIds(reader, accountId, { allBut: null }),
      ...address,
    },
  );
};

/** Erases an account. A second factor proves that its owner wants it; the operator needs none. */
export const eraseAccount: Run<"account.erase"> = async (reader, context, { accountId, proof }) => {
  const account = await requireAccount(reader, accountId);
  if (proof !== null) withProof(account, proof);
  const about = await eventsOfAccount(reader, accountId, context.pause);
  const operator = (await findMember(reader, accountId)) !== undefined;
  const details = { account_id: accountId, operator, links: await linksUsedBy(reader, accountId), ...about };
  const body = JSON.stringify({ account_id: accountId, events: about.events, audit_id: context.auditId });
  return changedRows("account.erase", context, details, body);
};

const NO_TOTP = { totpSecret: null, totpSince: null, totpStep: 0 } as const;

/** Stores the encrypted secret of a new authenticator. Codes are not required until it is confirmed. */
export const beginTotp: Run<"account.begin_totp"> = async (reader, context, { accountId, secret }) => {
  const account = await requireAccount(reader, accountId);
  if (hasTotp(account)) {
    throw new Problem("totp_on", "There is already a second factor. Disable it before you start another one.");
  }
  return changed("account.begin_totp", context, { ...account, ...NO_TOTP, totpSecret: secret });
};

/** Confirms an authenticator with its first code. */
export const confirmTotp: Run<"account.confirm_totp"> = async (reader, context, request) => {
  const { accountId, secret, step, codes } = request;
  const account = await requireAccount(reader, accountId);
  if (hasTotp(account)) throw new Problem("totp_on", "The second factor is already confirmed.");
  // If the second factor was begun again meanwhile, the code belongs to another secret.
  if (account.totpSecret !== secret || step <= account.totpStep) throw wrongCode();
  const next = { ...account, totpSince: context.nowMs, totpStep: step, codes };
  return changed("account.confirm_totp", context, next);
};

/** Ends an authenticator. With passkeys, the recovery codes stay. */
export const disableTotp: Run<"account.disable_totp"> = async (reader, context, { accountId, proof }) => {
  const account = await requireAccount(reader, accountId);
  if (!hasTotp(account)) throw totpOff();
  const { codes } = withProof(account, proof);
  const hasPasskeys = (await listPasskeys(reader, accountId)).length > 0;
  return changed("account.disable_totp", context, { ...account, ...NO_TOTP, codes: hasPasskeys ? codes : [] });
};

/** Replaces the recovery codes. */
export const renewCodes: Run<"account.renew_codes"> = async (reader, context, { accountId, proof, codes }) => {
  const account = await requireAccount(reader, accountId);
  if (!(await hasSecondFactor(reader, account))) throw totpOff();
  return changed("account.renew_codes", context, { ...withProof(account, proof), codes });
};

export const totpOff = () =>
  new Problem("totp_off", "There is no second factor. Start one with POST /account/totp first.");

export const wrongCode = () =>
  new Problem(
    "second_factor_failed",
    "The code is wrong, was used before, or has expired. Use the code that the authenticator shows now, or a recovery code.",
    { param: "code" },
  );

/** Returns the account after a code was taken, which is accepted once. @throws {Problem} `second_factor_failed` */
export function withProof(account: StoredAccount, proof: CodeProof): StoredAccount {
  if ("step" in proof) {
    // The authenticator may have ended meanwhile, or not be confirmed.
    if (!hasTotp(account) || proof.step <= account.totpStep) throw wrongCode();
    return { ...account, totpStep: proof.step };
  }
  if (!account.codes.includes(proof.code)) throw wrongCode();
  return { ...account, codes: account.codes.filter((code) => code !== proof.code) };
}
