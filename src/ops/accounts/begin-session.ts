/** Begins sessions: the last step of every way to sign in. */
import type { StoredAccount } from "../../core/rows/access/accounts.ts";
import { findSession, type StoredSession } from "../../core/rows/access/sessions.ts";
import type { SignIn } from "../../operation-facts.ts";
import { Problem } from "../../problem.ts";
import { digestOf, makeSecret } from "../directory/secret.ts";
import { knownDevice } from "./devices.ts";
import { addressDetails } from "./failed-sign-ins.ts";
import { type AccountParts, asAccount, type Origin } from "./parts.ts";

/** A session ends this long after it began, even when it is used, ms. */
export const SESSION_LIFETIME_MS = 7 * 24 * 3_600_000;
/** The lifetime of a session from an issuer, ms. The person's groups are read again at the next sign-in. */
export const ISSUER_SESSION_LIFETIME_MS = 8 * 3_600_000;
/** How many characters of a user agent are stored. */
const USER_AGENT_LENGTH = 256;

/** A new session. Its secrets are available only now. */
export interface BegunSession {
  session: StoredSession;
  /** The value of the session's cookie. */
  token: string;
  /** The value of the device's cookie. */
  device: string;
}

/** How somebody was authenticated, and by which issuer. */
type Authenticated = Partial<Pick<SignIn, "proof" | "issuer">> & { issuerSession?: string | null };

/**
 * Records a sign-in and begins its session.
 * @throws {Problem} `sign_in_failed`, `second_factor_failed`, `invalid_request` when what was checked is not so any more
 */
export async function beginSession(
  parts: AccountParts,
  account: StoredAccount,
  origin: Origin,
  { proof = null, issuer = null, issuerSession = null }: Authenticated = {},
): Promise<{ begun: BegunSession; auditId: string | null }> {
  const { installation, journal, random, workspaces } = parts;
  const { text: token, digest: tokenDigest } = makeSecret(random);
  const known = knownDevice(installation.connection, account, origin.device);
  const { auditId } = await workspaces.change(asAccount(parts, account.id), "account.sign_in", {
    accountId: account.id,
    password: account.password,
    ...{ proof, issuer, knownDevice: known !== null, address: addressDetails(origin.address) },
    session: {
      digest: tokenDigest.toHex(),
      lifetimeMs: issuerSession === null ? SESSION_LIFETIME_MS : ISSUER_SESSION_LIFETIME_MS,
      address: origin.address,
      userAgent: printable(origin.userAgent),
      issuerSession,
    },
  });
  const session = await findSession(installation.connection, digestOf(token).toHex());
  if (session === undefined) throw new Problem("sign_in_failed", "The session was ended at once. Sign in again.");
  const device = known ?? makeSecret(random).text;
  const digest = digestOf(device).toHex();
  await journal.note(installation.id, { kind: "device", accountId: account.id, digest, at: session.createdAt });
  return { begun: { session, token, device }, auditId };
}

function printable(text: string): string {
  return text
    .replace(/\p{Cc}/gu, "")
    .slice(0, USER_AGENT_LENGTH)
    .toWellFormed();
}
