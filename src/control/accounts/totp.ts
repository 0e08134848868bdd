/** Time-based one-time passwords (RFC 6238): six digits, thirty seconds, SHA-1, as every authenticator has them. */
import { Secret, TOTP } from "otpauth";
import type { RandomPool } from "../../ids.ts";

const ISSUER = "governd";
/** RFC 4226 section 4 asks for 128 bits at least and recommends 160. */
const SECRET_BYTES = 20;
const PERIOD_SECONDS = 30;
const DIGITS = 6;
/** Steps before and after the present one that are taken, for clocks that differ. */
const WINDOW = 1;

const CODE = /^[0-9]{6}$/;

const generator = (secret: Secret, label: string): TOTP =>
  new TOTP({ issuer: ISSUER, label, algorithm: "SHA1", digits: DIGITS, period: PERIOD_SECONDS, secret });

/** A new secret, base32. */
export function makeTotpSecret(random: RandomPool): string {
  const bytes = random.take(SECRET_BYTES);
  return new Secret({ buffer: new Uint8Array(bytes).buffer }).base32;
}

/** What an authenticator reads from a QR code. */
export function totpUri(secret: string, email: string): string {
  return generator(Secret.fromBase32(secret), email).toString();
}

/**
 * The time step that a code belongs to; null when it is not right. A code is to be taken once only:
 * the caller keeps the step, and takes none that is not newer.
 */
export function totpStep(secret: string, code: string, nowMs: number): number | null {
  const digits = code.replace(/\s/g, "");
  if (!CODE.test(digits)) return null;
  const delta = generator(Secret.fromBase32(secret), "").validate({
    token: digits,
    timestamp: nowMs,
    window: WINDOW,
  });
  return delta === null ? null : Math.floor(nowMs / 1_000 / PERIOD_SECONDS) + delta;
}
