/**
 * The second factor: time-based one-time passwords (RFC 6238: six digits, thirty seconds, SHA-1, as all authenticator
 * apps support them) and recovery codes.
 */
import { Secret, TOTP } from "otpauth";
import { hasSecondFactor, hasTotp, type StoredAccount } from "../../core/rows/access/accounts.ts";
import type { CodeProof } from "../../operation-facts.ts";
import { makeRecoveryCode, recoveryCodeDigest } from "../directory/secret.ts";
import { totpOff, wrongCode } from "./operations/account.ts";
import { type AccountParts, asAccount } from "./parts.ts";

/** The number of recovery codes of one account. */
const RECOVERY_CODES = 10;

/**
 * Checks a code of the authenticator or a recovery code, and calls `take` with what it proves: each is accepted only once,
 * by the operation that it allows.
 * @throws {Problem} `second_factor_failed`, `rate_limited`, `unavailable`
 */
export async function withCode<T>(
  parts: AccountParts,
  account: StoredAccount,
  code: string,
  take: (proof: CodeProof) => Promise<T>,
): Promise<T> {
  const attempt = parts.attempts.code(account.id);
  const proof = proofOf(parts, account, code);
  if (proof === null) throw wrongCode();
  const done = await take(proof);
  attempt.succeeded();
  return done;
}

function proofOf(parts: AccountParts, account: StoredAccount, code: string): CodeProof | null {
  if (isCode(code)) {
    const step = stepOf(parts, account, code);
    return step === null ? null : { step };
  }
  const digest = recoveryCodeDigest(code)?.toHex();
  return digest !== undefined && account.codes.includes(digest) ? { code: digest } : null;
}

const isCode = (code: string): boolean => /^[0-9\s]{1,16}$/.test(code) && code.replace(/\s/g, "").length === 6;

function stepOf({ clock, factorKey }: AccountParts, account: StoredAccount, code: string): number | null {
  if (account.totpSecret === null) return null;
  return totpStep(factorKey.decrypt(account.id, account.totpSecret), code, clock());
}

/** Begins a second factor, and returns the secret for the authenticator. Codes are required once it is confirmed. */
export async function beginSecondFactor(parts: AccountParts, account: StoredAccount) {
  const key = new Secret({ buffer: new Uint8Array(parts.random.take(SECRET_BYTES)).buffer });
  const secret = key.base32;
  const encrypted = await parts.factorKey.encrypt(parts.installation.connection, account.id, secret);
  const { auditId } = await parts.workspaces.change(asAccount(parts, account.id), "account.begin_totp", {
    ...{ accountId: account.id, secret: encrypted },
  });
  // An authenticator reads the URI from a QR code.
  return { secret, uri: generator(key, account.email).toString(), auditId };
}

/** Confirms a second factor with its first code. Returns the recovery codes, which are shown only once. */
export async function confirmSecondFactor(parts: AccountParts, account: StoredAccount, code: string) {
  const { id: accountId, totpSecret: secret } = account;
  if (secret === null) throw totpOff();
  const attempt = parts.attempts.code(accountId);
  const step = isCode(code) ? stepOf(parts, account, code) : null;
  if (step === null) throw wrongCode();
  const codes = newCodes(parts);
  const input = { accountId, secret, step, codes: digestsOf(codes) };
  const { auditId } = await parts.workspaces.change(asAccount(parts, accountId), "account.confirm_totp", input);
  attempt.succeeded();
  return { codes, auditId };
}

/** Returns new recovery codes, which are shown only once. The old ones are no longer valid. */
export async function renewRecoveryCodes(parts: AccountParts, account: StoredAccount, code: string) {
  if (!(await hasSecondFactor(parts.installation.connection, account))) throw totpOff();
  const codes = newCodes(parts);
  const { auditId } = await withCode(parts, account, code, (proof) =>
    parts.workspaces.change(asAccount(parts, account.id), "account.renew_codes", {
      ...{ accountId: account.id, proof, codes: digestsOf(codes) },
    }),
  );
  return { codes, auditId };
}

/** Ends the authenticator of an account. */
export async function endSecondFactor(parts: AccountParts, account: StoredAccount, code: string) {
  if (!hasTotp(account)) throw totpOff();
  const { auditId } = await withCode(parts, account, code, (proof) =>
    parts.workspaces.change(asAccount(parts, account.id), "account.disable_totp", { accountId: account.id, proof }),
  );
  return { auditId };
}

export function newCodes({ random }: AccountParts): string[] {
  return Array.from({ length: RECOVERY_CODES }, () => makeRecoveryCode(random));
}

/** Returns the digests of recovery codes, hex. */
export const digestsOf = (codes: readonly string[]): string[] =>
  codes.map((code) => (recoveryCodeDigest(code) as Uint8Array).toHex());

const ISSUER = "governd";
/** RFC 4226 section 4 requires at least 128 bits and recommends 160. */
const SECRET_BYTES = 20;
const PERIOD_SECONDS = 30;
const DIGITS = 6;
/** How many time steps before and after the present one are accepted, since clocks differ. */
const WINDOW = 1;

const CODE = /^[0-9]{6}$/;

const generator = (secret: Secret, label: string): TOTP =>
  new TOTP({ issuer: ISSUER, label, algorithm: "SHA1", digits: DIGITS, period: PERIOD_SECONDS, secret });

/**
 * Returns the time step of a code, or null when the code is wrong. To accept each code only once, the caller stores
 * the step and refuses codes whose step is not newer.
 */
function totpStep(secret: string, code: string, nowMs: number): number | null {
  const digits = code.replace(/\s/g, "");
  if (!CODE.test(digits)) return null;
  const delta = generator(Secret.fromBase32(secret), "").validate({ token: digits, timestamp: nowMs, window: WINDOW });
  return delta === null ? null : Math.floor(nowMs / 1_000 / PERIOD_SECONDS) + delta;
}
