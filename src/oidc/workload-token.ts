/** Tokens that workloads send: JSON Web Tokens (RFC 7519) of an issuer whose keys are known. */
import { type JWTPayload, type JWTVerifyGetKey, jwtVerify } from "jose";
import { JOSEError, JWTClaimValidationFailed, JWTExpired } from "jose/errors";
import type { JsonObject } from "../json.ts";
import { IssuerRefused, IssuerUnavailable } from "./refused.ts";

/** How far the clocks of an issuer and of this machine may differ, seconds. */
const TOKEN_TOLERANCE_S = 60;
/** Signatures that only the holder of the issuer's private key can make. */
const ALGORITHMS = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
];
/** The longest subject. It becomes part of the record. */
const MAX_SUBJECT = 1_024;

/** The claims of a valid token. */
export interface WorkloadToken {
  subject: string;
  audiences: readonly string[];
  claims: JsonObject;
  /** Milliseconds since the Unix epoch, with the tolerance. */
  expiresAt: number;
}

/**
 * The form of a JWT: three texts in base64url, the first of a JSON object. No other credential after `Bearer` has it.
 */
const TOKEN = /^eyJ[\w-]*\.[\w-]+\.[\w-]+$/;

export const isToken = (text: string): boolean => TOKEN.test(text);

/** Returns the issuer that a token names, before anything is verified; null when it names none. */
export function namedIssuer(token: string): string | null {
  try {
    const payload = JSON.parse(Buffer.from(token.split(".")[1] as string, "base64url").toString()) as JWTPayload | null;
    return typeof payload?.iss === "string" ? payload.iss : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

/**
 * Verifies a token, except its audience, which the rules compare. `nowMs` is milliseconds since the Unix epoch.
 * @throws {IssuerRefused} with the reason, {IssuerUnavailable}
 */
export async function verifyToken(
  token: string,
  keys: JWTVerifyGetKey,
  { issuer, nowMs }: { issuer: string; nowMs: number },
): Promise<WorkloadToken> {
  try {
    const { payload } = await jwtVerify(token, keys, {
      issuer,
      algorithms: ALGORITHMS,
      currentDate: new Date(nowMs),
      clockTolerance: TOKEN_TOLERANCE_S,
      requiredClaims: ["sub", "aud", "exp"],
    });
    const { sub, aud, exp } = payload as Required<JWTPayload>;
    if (typeof sub !== "string" || sub === "" || sub.length > MAX_SUBJECT || !sub.isWellFormed()) {
      throw new IssuerRefused("its subject cannot be recorded");
    }
    const audiences = [aud].flat();
    return { subject: sub, audiences, claims: payload as JsonObject, expiresAt: (exp + TOKEN_TOLERANCE_S) * 1_000 };
  } catch (error) {
    if (error instanceof IssuerRefused || error instanceof IssuerUnavailable) throw error;
    if (error instanceof JOSEError) throw new IssuerRefused(reasonOf(error), { cause: error });
    throw error;
  }
}

/** Returns what is wrong with a token, for its holder, without repeating any part of it. */
function reasonOf(error: JOSEError): string {
  if (error instanceof JWTExpired) return "it has expired";
  if (error instanceof JWTClaimValidationFailed) {
    return error.claim === "nbf" ? "it is not valid yet" : `its claim ${error.claim} is missing or not right`;
  }
  switch (error.code) {
    case "ERR_JWKS_NO_MATCHING_KEY":
      return "its issuer publishes no such key";
    case "ERR_JWKS_MULTIPLE_MATCHING_KEYS":
      return "it does not say which of its issuer's keys signed it";
    case "ERR_JWS_SIGNATURE_VERIFICATION_FAILED":
      return "its signature is wrong";
    case "ERR_JOSE_ALG_NOT_ALLOWED":
      return "its algorithm is not allowed";
    default:
      return "it has another form";
  }
}
