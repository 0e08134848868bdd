/** Signing in, and everything else that asks for a password. */
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
import { type BegunSession, beginSession, knownDevice } from "./session-keeper.ts";
import { deleteOtherSessions, type SessionRecord } from "./sessions.ts";
import { linkNotFound } from "./sign-up.ts";

export interface Credentials {
  email: string;
  password: string;
  code: string | null;
}

/**
 * Signs in. An unknown account and a wrong password give the same response after the same time, and count against the
 * same limits.
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
  const attempt = attempts.signIn({ email, address: origin.address, device: device && digestName(digestOf(device)) });
  const account = findAccountByEmail(control.connection, email);
  const right = await passwords.verify(credentials.password, account?.password ?? null);
  if (account === undefined || !right) {
    throw new Refused("sign_in_failed", "The mail address or the password is wrong.");
  }
  if (hasSecondFactor(account)) {
    // The password was correct. From here on, only codes are counted.
    attempt.succeeded();
    if (credentials.code === null) {
      throw new Refused(
        "second_factor_required",
        "Also send `code`: the code of the authenticator, or a recovery code.",
        { param: "code" },
      );
    }
    takeCode(parts, account, credentials.code);
  }
  const begun = control.change((connection) => {
    // The password may have changed while it was checked.
    if (findAccount(connection, account.id)?.password !== account.password) {
      throw new Refused("sign_in_failed", "The mail address or the password is wrong.");
    }
    return beginSession(connection, parts, account, origin);
  });
  if (!hasSecondFactor(account)) attempt.succeeded();
  return { account, begun };
}

/**
 * Checks the password of a signed-in person again, for actions for which an open session is not enough.
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
    throw new Refused("password_wrong", "This is not your current password.");
  }
  attempt.succeeded();
  return account;
}

/** Changes the password and ends all other sessions. */
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
 * Sets a password with a link of the command line and ends all sessions.
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
