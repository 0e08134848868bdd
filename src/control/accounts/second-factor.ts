/** The second factor: codes of an authenticator, recovery codes, beginning and ending it. */

import { Refused } from "../refused.ts";
import { makeRecoveryCode, recoveryCodeDigest } from "../secret.ts";
import {
  type AccountRecord,
  beginTotp,
  confirmTotp,
  dropTotp,
  findAccount,
  replaceRecoveryCodes,
  takeRecoveryCode,
  takeTotpStep,
} from "./accounts.ts";
import type { AccountParts } from "./parts.ts";
import { makeTotpSecret, totpStep, totpUri } from "./totp.ts";

/** Recovery codes of one account. */
const RECOVERY_CODES = 10;

const wrongCode = () =>
  new Refused(
    "second_factor_failed",
    "The code is wrong, was used before, or is over. Take the one that the authenticator shows now, or a recovery code.",
    { param: "code" },
  );

const notOn = () =>
  new Refused("totp_off", "There is no second factor. Begin one with POST /account/totp first.");

/** True when the account asks for a second factor. */
export const hasSecondFactor = (account: AccountRecord): boolean => account.totpSince !== null;

/**
 * Takes a code of the authenticator or a recovery code, each once.
 * @throws {Refused} `second_factor_failed`, `rate_limited`
 */
export function takeCode(parts: AccountParts, account: AccountRecord, code: string): void {
  const attempt = parts.attempts.code(account.id);
  const right = isCode(code) ? takeTotp(parts, account, code) : takeRecovery(parts, account, code);
  if (!right) throw wrongCode();
  attempt.succeeded();
}

const isCode = (code: string): boolean =>
  /^[0-9\s]{1,16}$/.test(code) && code.replace(/\s/g, "").length === 6;

function takeTotp({ control, clock }: AccountParts, account: AccountRecord, code: string): boolean {
  if (account.totpSecret === null) return false;
  const step = totpStep(account.totpSecret, code, clock());
  return step !== null && control.change((connection) => takeTotpStep(connection, account.id, step));
}

function takeRecovery({ control }: AccountParts, account: AccountRecord, code: string): boolean {
  const digest = recoveryCodeDigest(code);
  return digest !== null && control.change((connection) => takeRecoveryCode(connection, account.id, digest));
}

/** Begins a second factor: the secret for the authenticator. It is asked for once it is confirmed. */
export function beginSecondFactor(
  parts: AccountParts,
  account: AccountRecord,
): { secret: string; uri: string } {
  if (hasSecondFactor(account)) {
    throw new Refused("totp_on", "There is a second factor already. Disable it before you begin another.");
  }
  const secret = makeTotpSecret(parts.random);
  parts.control.change((connection) => beginTotp(connection, account.id, secret));
  return { secret, uri: totpUri(secret, account.email) };
}

/** Confirms a second factor by its first code; answers the recovery codes, which are seen this once. */
export function confirmSecondFactor(parts: AccountParts, account: AccountRecord, code: string): string[] {
  if (account.totpSecret === null) throw notOn();
  if (hasSecondFactor(account)) throw new Refused("totp_on", "The second factor is confirmed already.");
  const attempt = parts.attempts.code(account.id);
  if (!isCode(code) || !takeTotp(parts, account, code)) throw wrongCode();
  attempt.succeeded();
  const codes = newCodes(parts);
  parts.control.change((connection) => {
    // Begun anew in the meantime: then the code was of another secret.
    if (findAccount(connection, account.id)?.totpSecret !== account.totpSecret) throw wrongCode();
    confirmTotp(connection, account.id, parts.clock());
    replaceRecoveryCodes(connection, account.id, digestsOf(codes));
  });
  return codes;
}

/** New recovery codes; the old ones are void. */
export function renewRecoveryCodes(parts: AccountParts, account: AccountRecord, code: string): string[] {
  if (!hasSecondFactor(account)) throw notOn();
  takeCode(parts, account, code);
  const codes = newCodes(parts);
  parts.control.change((connection) => replaceRecoveryCodes(connection, account.id, digestsOf(codes)));
  return codes;
}

export function endSecondFactor(parts: AccountParts, account: AccountRecord, code: string): void {
  if (!hasSecondFactor(account)) throw notOn();
  takeCode(parts, account, code);
  parts.control.change((connection) => dropTotp(connection, account.id));
}

function newCodes({ random }: AccountParts): string[] {
  return Array.from({ length: RECOVERY_CODES }, () => makeRecoveryCode(random));
}

function digestsOf(codes: readonly string[]): Uint8Array[] {
  return codes.map((code) => recoveryCodeDigest(code) as Uint8Array);
}
