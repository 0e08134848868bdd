/** Signs people in, and does everything else that requires a password. */
import {
  findAccount,
  findAccountByEmail,
  hasSecondFactor,
  NO_PASSWORD,
  type StoredAccount,
} from "../../core/rows/access/accounts.ts";
import { findOpenLink } from "../../core/rows/access/links.ts";
import type { StoredSession } from "../../core/rows/access/sessions.ts";
import type { SignIn } from "../../operation-facts.ts";
import { Problem } from "../../problem.ts";
import { digestOf } from "../directory/secret.ts";
import { linkNotFound } from "../members/operations.ts";
import { type BegunSession, beginSession } from "./begin-session.ts";
import { knownDevice } from "./devices.ts";
import { normaliseEmail } from "./emails.ts";
import { addressDetails, type FailureReason } from "./failed-sign-ins.ts";
import { isIssuerOnly, mayBreakGlass } from "./issuer-only.ts";
import { codeRequired, wrongPassword } from "./operations/session.ts";
import { type AccountParts, asAccount, type Origin } from "./parts.ts";
import { withCode } from "./second-factor.ts";

interface Credentials {
  email: string;
  password: string;
  code: string | null;
}

/**
 * Signs in. An unknown account and a wrong password give the same response after the same time, and count against the
 * same limits.
 * @throws {Problem} `sign_in_failed`, `second_factor_required`, `second_factor_failed`, `issuer_only`, `rate_limited`,
 *   `unavailable`
 */
export async function signIn(parts: AccountParts, credentials: Credentials, origin: Origin) {
  const email = normaliseEmail(credentials.email);
  const account = await findAccountByEmail(parts.installation.connection, email);
  try {
    return await authenticated(parts, account, { ...credentials, email }, origin);
  } catch (error) {
    const reason = error instanceof Problem ? FAILURES[error.code] : undefined;
    if (reason === undefined) throw error;
    // The limit was reached before the account was checked, so the account is not recorded.
    await parts.failures.failed(origin.address, reason === "rate_limited" ? null : (account?.id ?? null), reason);
    throw error;
  }
}

/** The refusals that the log of the installation records. */
const FAILURES: Readonly<Record<string, FailureReason>> = {
  sign_in_failed: "password",
  second_factor_failed: "second_factor",
  rate_limited: "rate_limited",
  issuer_only: "issuer_only",
};

/** The same for a signed-in person. */
const FAILURES_IN_SESSION: typeof FAILURES = {
  password_wrong: "password_again",
  second_factor_failed: "second_factor_again",
  rate_limited: "rate_limited",
};

/**
 * Refuses passwords when they are off. To be called only after a right password, so as not to reveal which accounts
 * exist.
 */
async function refuseWhenIssuerOnly(parts: AccountParts, account: StoredAccount): Promise<void> {
  if (!(await isIssuerOnly(parts)) || (await mayBreakGlass(parts, account))) return;
  throw new Problem(
    "issuer_only",
    "Signing in with a password is off. Sign in by the issuer: GET /account/oidc/start. Only an owner with a second factor can still use a password.",
  );
}

/** Somebody who is signed in, and the event that says so. */
interface SignedInNow {
  account: StoredAccount;
  begun: BegunSession;
  auditId: string | null;
}

/** Checks credentials, and begins a session. @throws {Problem} when they are wrong */
async function authenticated(
  parts: AccountParts,
  account: StoredAccount | undefined,
  credentials: Credentials,
  origin: Origin,
): Promise<SignedInNow> {
  const { installation, passwords, attempts } = parts;
  const { email, code } = credentials;
  const device = knownDevice(installation.connection, account, origin.device);
  const attempt = attempts.signIn({ email, address: origin.address, device: device && digestOf(device).toHex() });
  const right = await passwords.verify(credentials.password, account?.password ?? null);
  if (account === undefined || !right) throw wrongPassword();
  if (!(await hasSecondFactor(installation.connection, account))) {
    const started = await begunFor(parts, account, null, origin);
    attempt.succeeded();
    return started;
  }
  // The password was correct, so only codes count as attempts from here on.
  attempt.succeeded();
  if (code !== null) return await withCode(parts, account, code, (proof) => begunFor(parts, account, proof, origin));
  throw codeRequired();
}

/**
 * Begins a session for a person who was authenticated by a passkey.
 * @throws {Problem} `issuer_only`
 */
export async function startSession(
  parts: AccountParts,
  account: StoredAccount,
  proof: SignIn["proof"],
  origin: Origin,
) {
  try {
    return await begunFor(parts, account, proof, origin);
  } catch (error) {
    if (error instanceof Problem && error.code === "issuer_only") {
      await parts.failures.failed(origin.address, account.id, "issuer_only");
    }
    throw error;
  }
}

async function begunFor(
  parts: AccountParts,
  account: StoredAccount,
  proof: SignIn["proof"],
  origin: Origin,
): Promise<SignedInNow> {
  await refuseWhenIssuerOnly(parts, account);
  return { account, ...(await beginSession(parts, account, origin, { proof })) };
}

/**
 * Checks the password of a signed-in person again, for actions for which an open session is not enough.
 * @throws {Problem} `password_wrong`, `rate_limited`, `unavailable`
 */
export function confirmPassword(parts: AccountParts, session: StoredSession, password: string): Promise<StoredAccount> {
  return recordingFailures(parts, session, async () => {
    const attempt = parts.attempts.passwordAgain(session.id);
    const account = await findAccount(parts.installation.connection, session.accountId);
    const right = await parts.passwords.verify(password, account?.password ?? null);
    if (account?.password === NO_PASSWORD) {
      throw new Problem(
        "password_wrong",
        "Your account has no password: you sign in by the issuer, which keeps your factors.",
      );
    }
    if (account === undefined || !right) throw new Problem("password_wrong", "This is not your current password.");
    attempt.succeeded();
    return account;
  });
}

/** Runs `work`, which checks a password or a code of a signed-in person. Records a failure. */
export async function recordingFailures<T>(
  { failures }: AccountParts,
  { accountId, address }: StoredSession,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const reason = error instanceof Problem ? FAILURES_IN_SESSION[error.code] : undefined;
    if (reason !== undefined) await failures.failed(address, accountId, reason);
    throw error;
  }
}

/** Changes the name that other members see. */
export const rename = (parts: AccountParts, accountId: string, name: string) =>
  parts.workspaces.change(asAccount(parts, accountId), "account.rename", { accountId, name });

/**
 * Changes the password and ends all other sessions.
 * @throws {Problem} `invalid_request` for a common password, `password_wrong`, `rate_limited`, `unavailable`
 */
export async function changePassword(
  parts: AccountParts,
  session: StoredSession,
  request: { current: string; next: string },
): Promise<{ auditId: string | null }> {
  const account = await confirmPassword(parts, session, request.current);
  const password = await parts.passwords.hash(request.next, account.email, "new_password");
  const { id: accountId, password: from } = account;
  const input = { accountId, from, password, keep: session.id };
  const { auditId } = await parts.workspaces.change(asAccount(parts, accountId), "account.change_password", input);
  return { auditId };
}

/** Ends one session of an account, or all others when `which` is null. Returns how many it ended. */
export async function endSessions(
  { session: current, accountId }: { session: StoredSession; accountId: string },
  parts: AccountParts,
  which: string | null,
): Promise<{ ended: number; auditId: string | null }> {
  const input = { accountId, which: which === null ? { allBut: current.id } : { id: which } };
  const { body, auditId } = await parts.workspaces.change(asAccount(parts, accountId), "account.end_sessions", input);
  return { ended: Number(body.ended), auditId };
}

/**
 * Sets a password with a link of the command line and ends all sessions.
 * @throws {Problem} `invalid_request` for a common password, `link_not_found`, `rate_limited`, `unavailable`
 */
export async function resetPassword(parts: AccountParts, request: { token: string; next: string }, origin: Origin) {
  const { installation, journal, clock, passwords } = parts;
  const attempt = parts.attempts.link(origin.address);
  const digest = digestOf(request.token).toHex();
  const accountId = (await findOpenLink(installation.connection, digest, clock()))?.accountId ?? null;
  if (accountId === null) throw linkNotFound();
  attempt.succeeded();
  const email = (await findAccount(installation.connection, accountId))?.email ?? "";
  const password = await passwords.hash(request.next, email, "new_password");
  const input = { digest, password, address: addressDetails(origin.address) };
  const { auditId } = await parts.workspaces.change(asAccount(parts, accountId), "account.reset_password", input);
  await journal.note(installation.id, { kind: "forget_devices", accountId });
  return { auditId };
}
