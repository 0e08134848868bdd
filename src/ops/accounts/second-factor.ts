/**
 * The second factor: time-based one-time passwords (RFC 6238: six digits, thirty seconds, SHA-1, as all authenticator
 * apps support them) and recovery codes.
 */
import { Secret, TOTP } from "otpauth";
import type { AccountEventName } from "../../operations.ts";
import { Problem } from "../../problem.ts";
import type { Connection } from "../../store/connection.ts";
import { act, INSTALLATION, type Recorded } from "../directory/acts.ts";
import type { Change } from "../directory/changes.ts";
import { makeRecoveryCode, recoveryCodeDigest } from "../directory/secret.ts";
import { type AccountRecord, findAccount, listRecoveryCodes, takeRecoveryCode, takeTotpStep } from "./accounts.ts";
import { type AccountParts, ownEvent } from "./parts.ts";
import { countPasskeys } from "./passkey-records.ts";

/** The number of recovery codes of one account. */
const RECOVERY_CODES = 10;

const wrongCode = () =>
  new Problem(
    "second_factor_failed",
    "The code is wrong, was used before, or has expired. Use the code that the authenticator shows now, or a recovery code.",
    { param: "code" },
  );

const notOn = () => new Problem("totp_off", "There is no second factor. Start one with POST /account/totp first.");

/** Reports whether a password alone does not sign in to the account. */
export const hasSecondFactor = (connection: Connection, account: AccountRecord): boolean =>
  hasTotp(account) || countPasskeys(connection, account.id) > 0;

const hasTotp = (account: AccountRecord): boolean => account.totpSince !== null;

/**
 * Accepts a code of the authenticator or a recovery code, and returns which it was. Each is accepted only once.
 * @throws {Problem} `second_factor_failed`, `rate_limited`, `unavailable`
 */
export async function takeCode(
  parts: AccountParts,
  account: AccountRecord,
  code: string,
): Promise<"totp" | "recovery_code"> {
  const attempt = parts.attempts.code(account.id);
  const kind = isCode(code) ? "totp" : "recovery_code";
  const right = await (kind === "totp" ? takeTotp(parts, account, code) : takeRecovery(parts, account, code));
  if (!right) throw wrongCode();
  attempt.succeeded();
  return kind;
}

const isCode = (code: string): boolean => /^[0-9\s]{1,16}$/.test(code) && code.replace(/\s/g, "").length === 6;

async function takeTotp({ control, clock, factorKey }: AccountParts, account: AccountRecord, code: string) {
  if (account.totpSecret === null) return false;
  const step = totpStep(factorKey.decrypt(account.id, account.totpSecret), code, clock());
  return step !== null && (await control.change((connection) => takeTotpStep(connection, account.id, step)));
}

async function takeRecovery({ control }: AccountParts, account: AccountRecord, code: string): Promise<boolean> {
  const digest = recoveryCodeDigest(code);
  return digest !== null && (await control.change((connection) => takeRecoveryCode(connection, account.id, digest)));
}

/** Begins a second factor, and returns the secret for the authenticator. Codes are required once it is confirmed. */
export async function beginSecondFactor(parts: AccountParts, account: AccountRecord) {
  const key = new Secret({ buffer: new Uint8Array(parts.random.take(SECRET_BYTES)).buffer });
  const secret = key.base32;
  const { auditId } = await changed(parts, account, "account.begin_totp", (now) => {
    if (hasTotp(now)) {
      throw new Problem("totp_on", "There is already a second factor. Disable it before you start another one.");
    }
    return [["beginTotp", { id: now.id, secret: parts.factorKey.encrypt(parts.control.connection, now.id, secret) }]];
  });
  // An authenticator reads the URI from a QR code.
  return { secret, uri: generator(key, account.email).toString(), auditId };
}

/** Changes the second factor of an account. `decide` gets the present account, and returns the changes or throws. */
function changed(
  parts: AccountParts,
  { id }: AccountRecord,
  operation: AccountEventName,
  decide: (now: AccountRecord) => Change[],
): Promise<Recorded> {
  return act(parts, INSTALLATION, () => ({
    changes: decide(findAccount(parts.control.connection, id) as AccountRecord),
    event: ownEvent(operation, id),
  }));
}

/** Confirms a second factor with its first code. Returns the recovery codes, which are shown only once. */
export async function confirmSecondFactor(parts: AccountParts, account: AccountRecord, code: string) {
  if (account.totpSecret === null) throw notOn();
  if (hasTotp(account)) throw new Problem("totp_on", "The second factor is already confirmed.");
  const attempt = parts.attempts.code(account.id);
  if (!isCode(code) || !(await takeTotp(parts, account, code))) throw wrongCode();
  attempt.succeeded();
  const codes = newCodes(parts);
  const { auditId } = await changed(parts, account, "account.confirm_totp", ({ id, totpSecret }) => {
    // If the second factor was begun again meanwhile, the code belongs to another secret.
    if (totpSecret !== account.totpSecret) throw wrongCode();
    return [
      ["confirmTotp", { id, at: parts.clock() }],
      ["setRecoveryCodes", { id, digests: digestsOf(codes) }],
    ];
  });
  return { codes, auditId };
}

/** Returns new recovery codes, which are shown only once. The old ones are no longer valid. */
export async function renewRecoveryCodes(parts: AccountParts, account: AccountRecord, code: string) {
  const { connection } = parts.control;
  if (!hasSecondFactor(connection, account)) throw notOn();
  await takeCode(parts, account, code);
  const codes = newCodes(parts);
  const { auditId } = await changed(parts, account, "account.renew_codes", (now) => {
    if (!hasSecondFactor(connection, now)) throw notOn();
    return [["setRecoveryCodes", { id: now.id, digests: digestsOf(codes) }]];
  });
  return { codes, auditId };
}

export async function endSecondFactor(parts: AccountParts, account: AccountRecord, code: string): Promise<Recorded> {
  if (!hasTotp(account)) throw notOn();
  await takeCode(parts, account, code);
  const { connection } = parts.control;
  return await changed(parts, account, "account.disable_totp", ({ id }) => {
    const off: Change = ["dropTotp", { id }];
    if (countPasskeys(connection, id) === 0) return [off];
    // Passkeys stay, so the recovery codes stay, too.
    return [off, ["setRecoveryCodes", { id, digests: listRecoveryCodes(connection, id) }]];
  });
}

/** Returns recovery codes for an account that has none, and the change that stores them. */
export function firstFactorCodes(parts: AccountParts, id: string): { codes: string[]; change: Change } {
  const codes = newCodes(parts);
  return { codes, change: ["setRecoveryCodes", { id, digests: digestsOf(codes) }] };
}

function newCodes({ random }: AccountParts): string[] {
  return Array.from({ length: RECOVERY_CODES }, () => makeRecoveryCode(random));
}

function digestsOf(codes: readonly string[]): string[] {
  return codes.map((code) => (recoveryCodeDigest(code) as Uint8Array).toHex());
}

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
