/** Signs people in, and does everything else that requires a password. */
import { Problem } from "../../problem.ts";
import { act, INSTALLATION, type Recorded, recordInInstallation } from "../directory/acts.ts";
import type { Change } from "../directory/changes.ts";
import { digestName, digestOf } from "../directory/secret.ts";
import { type AccountRecord, findAccount, findAccountByEmail, NO_PASSWORD, normaliseEmail } from "./accounts.ts";
import { addressDetails, type FailureReason } from "./failed-sign-ins.ts";
import { isIssuerOnly, mayBreakGlass } from "./issuer-only.ts";
import { findUsableLink } from "./links.ts";
import { type AccountParts, type Origin, ownEvent } from "./parts.ts";
import { hasSecondFactor, takeCode } from "./second-factor.ts";
import { beginSession, knownDevice } from "./session-keeper.ts";
import { listSessions, type SessionRecord } from "./sessions.ts";
import { linkNotFound } from "./sign-up.ts";

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
  const account = findAccountByEmail(parts.control.connection, email);
  try {
    const proof = await authenticated(parts, account, { ...credentials, email }, origin);
    refuseWhenIssuerOnly(parts, account as AccountRecord);
    return await begunFor(parts, account as AccountRecord, proof, origin);
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

const wrongPassword = () => new Problem("sign_in_failed", "The mail address or the password is wrong.");

/**
 * Refuses passwords when they are off. To be called only after a right password, so as not to reveal which accounts
 * exist.
 */
function refuseWhenIssuerOnly({ control: { connection }, issuerOnly }: AccountParts, account: AccountRecord): void {
  if (!isIssuerOnly(connection, issuerOnly) || mayBreakGlass(connection, account)) return;
  throw new Problem(
    "issuer_only",
    "Signing in with a password is off. Sign in by the issuer: GET /account/oidc/start. Only an owner with a second factor can still use a password.",
  );
}

/** How a person was authenticated. */
interface Proof {
  /** The device's secret, if the device has signed in to this account before. */
  device: string | null;
  factor: "totp" | "recovery_code" | "passkey" | null;
}

/** Checks credentials. @throws {Problem} when they are wrong */
async function authenticated(
  parts: AccountParts,
  account: AccountRecord | undefined,
  credentials: Credentials,
  origin: Origin,
): Promise<Proof> {
  const { control, passwords, attempts } = parts;
  const { email } = credentials;
  const device = knownDevice(control.connection, email, origin.device);
  const attempt = attempts.signIn({ email, address: origin.address, device: device && digestName(digestOf(device)) });
  const right = await passwords.verify(credentials.password, account?.password ?? null);
  if (account === undefined || !right) throw wrongPassword();
  let factor: Proof["factor"] = null;
  if (hasSecondFactor(control.connection, account)) {
    // The password was correct, so only codes count as attempts from here on.
    attempt.succeeded();
    if (credentials.code === null) {
      throw new Problem(
        "second_factor_required",
        "Also send `code`: the code of the authenticator, or a recovery code. With a passkey: POST /account/sign-in/passkey.",
        { param: "code" },
      );
    }
    factor = await takeCode(parts, account, credentials.code);
  }
  // The password may have changed while it was checked.
  if (findAccount(control.connection, account.id)?.password !== account.password) throw wrongPassword();
  if (factor === null) attempt.succeeded();
  return { device, factor };
}

/**
 * Begins a session for a person who was authenticated without a password.
 * @throws {Problem} `issuer_only`
 */
export async function startSession(parts: AccountParts, account: AccountRecord, factor: "passkey", origin: Origin) {
  const device = knownDevice(parts.control.connection, account.email, origin.device);
  try {
    refuseWhenIssuerOnly(parts, account);
  } catch (error) {
    await parts.failures.failed(origin.address, account.id, "issuer_only");
    throw error;
  }
  return await begunFor(parts, account, { device, factor }, origin);
}

/** Records a sign-in and begins its session. */
async function begunFor(parts: AccountParts, account: AccountRecord, { device, factor }: Proof, origin: Origin) {
  const { control } = parts;
  const details = { second_factor: factor, known_device: device !== null, ...addressDetails(origin.address) };
  const { auditId } = await recordInInstallation(parts, ownEvent("account.sign_in", account.id, details));
  const begun = await control.change((connection) => {
    // The password may have changed while the event was recorded.
    if (findAccount(connection, account.id)?.password !== account.password) throw wrongPassword();
    return beginSession(connection, parts, account, origin);
  });
  return { account, begun, auditId };
}

/**
 * Checks the password of a signed-in person again, for actions for which an open session is not enough.
 * @throws {Problem} `password_wrong`, `rate_limited`, `unavailable`
 */
export function confirmPassword(parts: AccountParts, session: SessionRecord, password: string): Promise<AccountRecord> {
  return recordingFailures(parts, session, async () => {
    const attempt = parts.attempts.passwordAgain(session.id);
    const account = findAccount(parts.control.connection, session.accountId);
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
  { accountId, address }: SessionRecord,
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
export function rename(parts: AccountParts, id: string, name: string): Promise<Recorded<string | null>> {
  return act(parts, INSTALLATION, () => {
    if (findAccount(parts.control.connection, id)?.name === name) return { event: null };
    return { event: ownEvent("account.rename", id), changes: [["renameAccount", { id, name }]] };
  });
}

/**
 * Changes the password and ends all other sessions.
 * @throws {Problem} `invalid_request` for a common password, `password_wrong`, `rate_limited`, `unavailable`
 */
export async function changePassword(
  parts: AccountParts,
  session: SessionRecord,
  request: { current: string; next: string },
): Promise<Recorded> {
  const account = await confirmPassword(parts, session, request.current);
  const password = await parts.passwords.hash(request.next, account.email, "new_password");
  const { id } = account;
  return act(parts, INSTALLATION, () => ({
    event: ownEvent("account.change_password", id),
    changes: [
      ["setPassword", { id, password, at: parts.clock() }],
      ["endOtherSessions", { accountId: id, keep: session.id }],
    ],
  }));
}

/** Ends one session of an account, or all others when `which` is null. Returns how many it ended. */
export function endSessions(
  { session: current, accountId }: { session: SessionRecord; accountId: string },
  parts: AccountParts,
  which: string | null,
): Promise<{ ended: number } & Recorded<string | null>> {
  const { control, clock } = parts;
  return act(parts, INSTALLATION, () => {
    const open = listSessions(control.connection, accountId, clock()).map(({ id }) => id);
    const ended = open.filter((id) => (which === null ? id !== current.id : id === which)).length;
    if (ended === 0 && which !== null) return { event: null, result: { ended } };
    const change: Change =
      which === null ? ["endOtherSessions", { accountId, keep: current.id }] : ["endSession", { accountId, id: which }];
    return {
      event: ownEvent("account.end_sessions", accountId, { sessions: ended, own: which === current.id }),
      changes: [change],
      result: { ended },
    };
  });
}

/** The changes that remove every second factor. */
const DROPPED_FACTORS = ["dropTotp", "dropPasskeys"] as const;

/**
 * Sets a password with a link of the command line and ends all sessions.
 * @throws {Problem} `invalid_request` for a common password, `link_not_found`, `rate_limited`, `unavailable`
 */
export async function resetPassword(parts: AccountParts, request: { token: string; next: string }, origin: Origin) {
  const { control, clock, passwords } = parts;
  const attempt = parts.attempts.link(origin.address);
  const link = findUsableLink(control.connection, digestOf(request.token), clock());
  const accountId = link?.accountId ?? null;
  if (link === undefined || accountId === null) throw linkNotFound();
  attempt.succeeded();
  const email = findAccount(control.connection, accountId)?.email ?? "";
  const password = await passwords.hash(request.next, email, "new_password");
  return act(parts, INSTALLATION, () => {
    const at = clock();
    if (findUsableLink(control.connection, digestOf(request.token), at) === undefined) throw linkNotFound();
    return {
      event: ownEvent("account.reset_password", accountId, {
        link_id: link.id,
        second_factor_ended: link.dropsTotp,
        ...addressDetails(origin.address),
      }),
      changes: [
        ["takeLink", { id: link.id, by: accountId, at }],
        ["setPassword", { id: accountId, password, at }],
        ...(link.dropsTotp ? DROPPED_FACTORS.map((kind): Change => [kind, { id: accountId }]) : []),
        ["endOtherSessions", { accountId, keep: null }],
        ["forgetDevices", { id: accountId }],
      ],
    };
  });
}
