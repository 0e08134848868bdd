/** The operations on sessions: beginning and ending them. */
import {
  hasSecondFactor,
  listIdentities,
  listPasskeys,
  type StoredAccount,
} from "../../../core/rows/access/accounts.ts";
import { listStoredSessions, sessionEnd, sessionIds } from "../../../core/rows/access/sessions.ts";
import { type Context, changedRows, type Run, unchanged } from "../../../core/writer/operation.ts";
import { showTime } from "../../../ids.ts";
import type { JsonObject } from "../../../json.ts";
import type { SignIn } from "../../../operation-facts.ts";
import { invalid, Problem } from "../../../problem.ts";
import type { Reader } from "../../../store/transaction.ts";
import { bind, bindAccount, requireAccount, withProof } from "./account.ts";

/** The most sessions of one account. Another one ends the session that was unused for longest. */
const MAX_SESSIONS = 50;

export const wrongPassword = () => new Problem("sign_in_failed", "The mail address or the password is wrong.");

export const codeRequired = () =>
  new Problem(
    "second_factor_required",
    "Also send `code`: the code of the authenticator, or a recovery code. With a passkey: POST /account/sign-in/passkey.",
    { param: "code" },
  );

/** Begins a session of somebody who was authenticated. What was checked before must still be so. */
export const signIn: Run<"account.sign_in"> = async (reader, context, request) => {
  const { accountId, issuer, knownDevice, session, address } = request;
  const account = await requireAccount(reader, accountId);
  // The password may have changed while it was checked.
  if (account.password !== request.password) throw wrongPassword();
  const proof = await proved(reader, context, account, request);
  const id = context.ids.next("ses");
  const expiresAt = context.nowMs + session.lifetimeMs;
  const bound = bind(
    "sessions",
    {
      ...{ address: session.address, digest: session.digest },
      ...{ issuer_session: session.issuerSession, user_agent: session.userAgent },
    },
    context,
  );
  const over = await overdue(reader, context, accountId);
  const details = {
    account_id: accountId,
    session_id: id,
    session_digest: bound.digest,
    expires_at: showTime(expiresAt),
    known_device: knownDevice,
    ...proof.details,
    ...(await atIssuer(reader, accountId, issuer)),
    ...(over.length > 0 && { sessions_ended: over }),
    ...address,
  };
  return changedRows("account.sign_in", context, details, JSON.stringify({ id, audit_id: context.auditId }), {
    contents: { sessions: bound.contents, ...proof.contents },
    status: 201,
  });
};

/**
 * Returns what the event states of a second factor, which is taken.
 * @throws {Problem} when it was used meanwhile, and when the account has got one meanwhile; an issuer answers for its own factors
 */
async function proved(reader: Reader, context: Context, account: StoredAccount, { proof, issuer }: SignIn) {
  if (proof === null) {
    if (issuer === null && (await hasSecondFactor(reader, account))) throw codeRequired();
    return { details: { second_factor: null } };
  }
  if (!("passkeyId" in proof)) {
    const { contents, digest } = bindAccount(withProof(account, proof), context);
    const factor = "step" in proof ? "totp" : "recovery_code";
    return { details: { second_factor: factor, account_digest: digest }, contents: { accounts: contents } };
  }
  const passkey = (await listPasskeys(reader, account.id)).find(({ id }) => id === proof.passkeyId);
  if (passkey === undefined || passkey.counter !== proof.before) throw badPasskey();
  const { name, credentialId: credential_id, publicKey: public_key } = passkey;
  const { contents, digest } = bind("passkeys", { counter: proof.counter, credential_id, name, public_key }, context);
  return {
    details: { second_factor: "passkey", passkey_id: passkey.id, credential_digest: digest },
    contents: { passkeys: contents },
  };
}

export const badPasskey = () =>
  invalid("The passkey is not valid, was not asked for, or took too long. Begin again.", "passkey");

async function atIssuer(reader: Reader, accountId: string, issuer: SignIn["issuer"]): Promise<JsonObject> {
  if (issuer === null) return {};
  const known = (await listIdentities(reader, accountId)).some(({ id }) => id === issuer.identityId);
  if (!known) throw new Problem("sign_in_failed", "The link to the issuer has just ended.");
  return { issuer: issuer.issuer, identity_id: issuer.identityId, multi_factor: issuer.multiFactor };
}

/** Returns the sessions of an account that have ended by themselves, or are too many for another one. */
async function overdue(reader: Reader, { nowMs }: Context, accountId: string): Promise<string[]> {
  const sessions = await listStoredSessions(reader, accountId);
  const open = sessions.filter((session) => sessionEnd(session) > nowMs);
  const kept = new Set(open.slice(0, MAX_SESSIONS - 1).map(({ id }) => id));
  return sessions.map(({ id }) => id).filter((id) => !kept.has(id));
}

/** Ends sessions of an account. */
export const endSessions: Run<"account.end_sessions"> = async (reader, context, { accountId, which }) => {
  const sessions = await sessionIds(reader, accountId, which);
  const body = JSON.stringify({ ended: sessions.length, audit_id: context.auditId });
  if (sessions.length === 0) return unchanged(JSON.stringify({ ended: 0, audit_id: null }));
  const issuer = "issuer" in which ? { issuer: which.issuer } : {};
  const isOwn = context.principal.actor === accountId || context.principal.actor === "cli";
  return changedRows(
    "account.end_sessions",
    context,
    { account_id: accountId, sessions, ...(isOwn ? {} : issuer) },
    body,
  );
};
