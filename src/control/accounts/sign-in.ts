/** Signing in, and everything that asks for a password. */

import { Refused } from "../refused.ts";
import { digestName, digestOf } from "../secret.ts";
import {
  type AccountRecord,
  dropTotp,
  findAccount,
  findAccountByEmail,
  forgetDevices,
  normaliseEmail,
  setPassword,
} from "./accounts.ts";
import { findUsableLink, takeLink } from "./links.ts";
import type { AccountParts, Origin } from "./parts.ts";
import { hasSecondFactor, takeCode } from "./second-factor.ts";
import { type BegunSession, beginSession, knownDevice } from "./session-begin.ts";
import { deleteOtherSessions, type SessionRecord } from "./sessions.ts";
import { linkNotFound } from "./sign-up.ts";

export interface Credentials {
  email: string;
  password: string;
  code: string | null;
}

/**
 * Signs in. An account that does not exist and a wrong password are the same answer, and take the same
 * time; a limit on failures is the same for both.
 * @throws {Refused} `sign_in_failed`, `second_factor_required`, `second_factor_failed`, `rate_limited`, `unavailable`
 */
export async function signIn(
  parts: AccountParts,
  credentials: Credentials,
  origin: Origin,
): Promise<{ account: AccountRecord; begun: BegunSession }> {
  const { control, passwords, attempts } = parts;
  const email = normaliseEmail(credentials.email);
  const device = knownDevice(control.connection, email, origin.device);
  const attempt = attempts.signIn({
    email,
    address: origin.address,
    device: device && digestName(digestOf(device)),
  });
  const account = findAccountByEmail(control.connection, email);
  const right = await passwords.verify(credentials.password, account?.password ?? null);
  if (account === undefined || !right) {
    throw new Refused("sign_in_failed", "The mail address or the password is wrong.");
  }
  if (hasSecondFactor(account)) {
    // The password was right: what is counted from here on are codes.
    attempt.succeeded();
    if (credentials.code === null) {
      throw new Refused(
        "second_factor_required",
        "Send `code` as well: of the authenticator, or a recovery code.",
        {
          param: "code",
        },
      );
    }
    takeCode(parts, account, credentials.code);
  }
  const begun = control.change((connection) => {
    // Changed while it was being checked: then it no longer is the password.
    if (findAccount(connection, account.id)?.password !== account.password) {
      throw new Refused("sign_in_failed", "The mail address or the password is wrong.");
    }
    return beginSession(connection, parts, account, origin);
  });
  if (!hasSecondFactor(account)) attempt.succeeded();
  return { account, begun };
}

/**
 * Asks who is signed in for the password once more: a session left open is not enough for this.
 * @throws {Refused} `password_wrong`, `rate_limited`, `unavailable`
 */
export async function confirmPassword(
  { control, passwords, attempts }: AccountParts,
  session: SessionRecord,
  password: string,
): Promise<AccountRecord> {
  const attempt = attempts.passwordAgain(session.id);
  const account = findAccount(control.connection, session.accountId);
  const right = await passwords.verify(password, account?.password ?? null);
  if (account === undefined || !right) {
    throw new Refused("password_wrong", "This is not your present password.");
  }
  attempt.succeeded();
  return account;
}

/** Sets another password; all other sessions end. */
export async function changePassword(
  parts: AccountParts,
  session: SessionRecord,
  wish: { current: string; next: string },
): Promise<void> {
  const account = await confirmPassword(parts, session, wish.current);
  const password = await parts.passwords.hash(wish.next);
  parts.control.change((connection) => {
    setPassword(connection, account.id, password, parts.clock());
    deleteOtherSessions(connection, account.id, session.id);
  });
}

/**
 * Sets a password by a link of the command line; all sessions end.
 * @throws {Refused} `link_not_found`, `rate_limited`, `unavailable`
 */
export async function resetPassword(
  parts: AccountParts,
  wish: { token: string; next: string },
  origin: Origin,
): Promise<void> {
  const { control, clock, passwords } = parts;
  const attempt = parts.attempts.link(origin.address);
  const link = findUsableLink(control.connection, digestOf(wish.token), clock());
  const accountId = link?.accountId ?? null;
  if (link === undefined || accountId === null) throw linkNotFound();
  attempt.succeeded();
  const password = await passwords.hash(wish.next);
  const now = clock();
  control.change((connection) => {
    if (!takeLink(connection, link.id, accountId, now)) throw linkNotFound();
    setPassword(connection, accountId, password, now);
    if (link.dropsTotp) dropTotp(connection, accountId);
    deleteOtherSessions(connection, accountId, null);
    forgetDevices(connection, accountId);
  });
}
