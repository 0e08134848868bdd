/** The operations on passkeys, identities at an issuer, and one-time links; and whether people sign in by the issuer only. */
import {
  chosenIssuerOnly,
  findIdentity,
  findPasskey,
  hasSecondFactor,
  hasTotp,
  listIdentities,
  listPasskeys,
} from "../../../core/rows/access/accounts.ts";
import { listUnusedLinks } from "../../../core/rows/access/links.ts";
import { sessionIds } from "../../../core/rows/access/sessions.ts";
import { changedRows, done, type Run, unchanged } from "../../../core/writer/operation.ts";
import { showTime } from "../../../ids.ts";
import { Problem } from "../../../problem.ts";
import { makeLinkToken } from "../../directory/secret.ts";
import { bind, bindAccount, requireAccount } from "./account.ts";
import { badPasskey } from "./session.ts";

const DAY_MS = 86_400_000;
/** How long links of the operator are valid, and invitations by default, days. */
export const LINK_LIFETIME_DAYS = 7;

/** Adds a passkey. The first factor of an account brings recovery codes. */
export const addPasskey: Run<"account.add_passkey"> = async (reader, context, { accountId, passkey, codes }) => {
  const { name, host, credentialId, publicKey, counter } = passkey;
  if ((await findPasskey(reader, credentialId)) !== undefined) throw badPasskey();
  const account = await requireAccount(reader, accountId);
  const isFirst = !(await hasSecondFactor(reader, account));
  const credential = { counter, credential_id: credentialId, name, public_key: publicKey };
  const made = bind("passkeys", credential, context);
  const owner = isFirst ? bindAccount({ ...account, codes }, context) : null;
  const id = context.ids.next("pky");
  const details = {
    ...{ account_id: accountId, passkey_id: id, host, credential_digest: made.digest },
    ...(owner && { account_digest: owner.digest }),
  };
  const body = JSON.stringify({ id, is_first: isFirst, audit_id: context.auditId });
  return changedRows("account.add_passkey", context, details, body, {
    contents: { passkeys: made.contents, ...(owner && { accounts: owner.contents }) },
    status: 201,
  });
};

/** Removes a passkey, and with the last factor of an account its recovery codes. */
export const removePasskey: Run<"account.remove_passkey"> = async (reader, context, { accountId, passkeyId }) => {
  const account = await requireAccount(reader, accountId);
  const passkeys = await listPasskeys(reader, accountId);
  if (!passkeys.some(({ id }) => id === passkeyId)) {
    throw new Problem("passkey_not_found", "You have no such passkey. GET /account/passkeys lists them.");
  }
  const isLast = passkeys.length === 1 && !hasTotp(account);
  const owner = isLast ? bindAccount({ ...account, codes: [] }, context) : null;
  const details = { account_id: accountId, passkey_id: passkeyId, ...(owner && { account_digest: owner.digest }) };
  return changedRows("account.remove_passkey", context, details, done(context), {
    contents: owner === null ? {} : { accounts: owner.contents },
  });
};

/** Links an account to somebody at an issuer. It has at most one of each issuer. */
export const linkIdentity: Run<"account.link_identity"> = async (reader, context, { accountId, issuer, subject }) => {
  await requireAccount(reader, accountId);
  const known = await findIdentity(reader, issuer, subject);
  if (known?.accountId === accountId) return unchanged();
  if (known !== undefined || (await listIdentities(reader, accountId)).some((one) => one.issuer === issuer)) {
    throw new Problem("forbidden", "The account, or the identity, is linked already.");
  }
  const { contents, digest } = bind("identities", { issuer, subject }, context);
  const details = { account_id: accountId, identity_id: context.ids.next("idn"), identity_digest: digest, issuer };
  return changedRows("account.link_identity", context, details, done(context), { contents: { identities: contents } });
};

/** Ends the link of an account to an issuer, and the sessions that began with it. */
export const unlinkIdentity: Run<"account.unlink_identity"> = async (reader, context, { accountId, issuer }) => {
  const own = (await listIdentities(reader, accountId)).find((one) => one.issuer === issuer);
  if (own === undefined) return unchanged();
  const sessions = await sessionIds(reader, accountId, { issuer, session: null });
  const details = { account_id: accountId, identity_id: own.id, issuer, sessions_ended: sessions };
  return changedRows("account.unlink_identity", context, details, done(context));
};

/** Stores the operator's choice. */
export const requireIssuer: Run<"account.require_issuer"> = async (reader, context, { only }) => {
  if ((await chosenIssuerOnly(reader)) === only) return unchanged();
  return changedRows("account.require_issuer", context, { only }, done(context));
};

/** Makes a link. Its token is shown only once. */
export const makeLink: Run<"account.link"> = async (reader, context, request) => {
  const { text: token, digest } = makeLinkToken(context.random);
  const id = context.ids.next("inv");
  const expiresAt = showTime(context.nowMs + LINK_LIFETIME_DAYS * DAY_MS);
  const { accountId, endsSecondFactor } =
    request.kind === "reset" ? request : { accountId: null, endsSecondFactor: false };
  if (accountId !== null) await requireAccount(reader, accountId);
  const details = {
    ...{ link_id: id, link_digest: digest.toHex(), kind: request.kind, account_id: accountId },
    ...{ second_factor_ends: endsSecondFactor, expires_at: expiresAt },
  };
  const body = { id, kind: request.kind, token, expires_at: expiresAt, audit_id: context.auditId };
  return changedRows("account.link", context, details, JSON.stringify(body), { status: 201 });
};

/** Ends a link that was not used. */
export const endLink: Run<"account.unlink"> = async (reader, context, { linkId }) => {
  if (!(await listUnusedLinks(reader)).some(({ id }) => id === linkId)) return unchanged();
  return changedRows("account.unlink", context, { link_id: linkId }, done(context));
};
