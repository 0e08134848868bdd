/**
 * Verifies tokens of issuers, JSON Web Tokens (RFC 7519): ID tokens, logout tokens and those of workloads. The library
 * verifies the signature. The claims are compared here, so that all three have the same rules, two of which no library
 * has: a claim that is null counts as absent, and no token may be from the future.
 */
import { compactVerify, type JWTVerifyGetKey } from "jose";
import { JOSEError } from "jose/errors";
import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { parseAnswer, plainIssuer } from "./answers.ts";
import { IssuerRefused } from "./refused.ts";

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

export interface Expected {
  issuer: string;
  /** Null when the caller compares the audiences. */
  audience: string | null;
  /** Claims that must be there, beside `iss` and `aud`. */
  required: readonly string[];
  /** Milliseconds since the Unix epoch. */
  nowMs: number;
  /** How far the clocks of the issuer and of this machine may differ, seconds. */
  toleranceS: number;
  /** The longest time since `iat`, seconds. */
  maxAgeS?: number;
}

/** The claims of a valid token, without those that are null. */
export interface Claims extends JsonObject {
  iss: string;
}

/**
 * Returns the claims of a token.
 * @throws {IssuerRefused} with the reason, and what `keys` throws when the keys cannot be fetched
 */
export async function verifiedClaims(token: string, keys: JWTVerifyGetKey, expected: Expected): Promise<Claims> {
  const claims = await signedClaims(token, keys);
  for (const name of expected.required) if (claims[name] === undefined) throw wrongClaim(name);
  const { iss } = claims;
  if (typeof iss !== "string" || plainIssuer(iss) !== plainIssuer(expected.issuer)) throw wrongClaim("iss");
  const audiences = audiencesOf(claims);
  if (expected.audience !== null && !audiences.includes(expected.audience)) throw wrongClaim("aud");
  checkTimes(claims, expected);
  return { ...claims, iss };
}

/** Returns whom a token is for, which it states as a text or as a list. @throws {IssuerRefused} */
export function audiencesOf({ aud }: JsonObject): string[] {
  const audiences = [aud].flat();
  if (audiences.every((one) => typeof one === "string")) return audiences as string[];
  throw wrongClaim("aud");
}

export const wrongClaim = (name: string): IssuerRefused =>
  new IssuerRefused(`its claim ${name} is missing or not right`);

function checkTimes(claims: JsonObject, { nowMs, toleranceS, maxAgeS }: Expected): void {
  const [exp, nbf, iat] = ["exp", "nbf", "iat"].map((name) => seconds(name, claims[name]));
  const now = Math.floor(nowMs / 1_000);
  const latest = now + toleranceS;
  if (exp !== undefined && exp <= now - toleranceS) throw new IssuerRefused("it has expired", "clock");
  if (nbf !== undefined && nbf > latest) throw new IssuerRefused("it is not valid yet", "clock");
  if (iat !== undefined && iat > latest) throw new IssuerRefused("it was issued in the future", "clock");
  if (maxAgeS !== undefined && iat !== undefined && now - iat > maxAgeS + toleranceS) {
    throw new IssuerRefused("it is too old", "clock");
  }
}

function seconds(name: string, claim: JsonValue | undefined): number | undefined {
  if (claim === undefined || (typeof claim === "number" && Number.isFinite(claim))) return claim;
  throw wrongClaim(name);
}

/** Returns the claims once the signature is verified. */
async function signedClaims(token: string, keys: JWTVerifyGetKey): Promise<JsonObject> {
  try {
    const find: JWTVerifyGetKey = ({ kid, ...header }, jws) =>
      keys(typeof kid === "string" ? { ...header, kid } : header, jws);
    const { payload } = await compactVerify(token, find, { algorithms: ALGORITHMS });
    const claims = parseAnswer(new TextDecoder().decode(payload));
    if (isJsonObject(claims)) return claims;
  } catch (error) {
    if (error instanceof JOSEError && !KEYS_FAILED.has(error.code)) {
      throw new IssuerRefused(reasonOf(error), "invalid_answer", { cause: error });
    }
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new IssuerRefused(ANOTHER_FORM);
}

/** The keys could not be fetched, or are none. */
const KEYS_FAILED = new Set(["ERR_JWKS_TIMEOUT", "ERR_JWKS_INVALID", "ERR_JOSE_GENERIC"]);

const ANOTHER_FORM = "it has another form";

/** Returns what is wrong with a token, for its holder, without repeating any part of it. */
function reasonOf({ code }: JOSEError): string {
  switch (code) {
    case "ERR_JWKS_NO_MATCHING_KEY":
      return "its issuer publishes no such key";
    case "ERR_JWKS_MULTIPLE_MATCHING_KEYS":
      return "it does not say which of its issuer's keys signed it";
    case "ERR_JWS_SIGNATURE_VERIFICATION_FAILED":
      return "its signature is wrong";
    case "ERR_JOSE_ALG_NOT_ALLOWED":
      return "its algorithm is not allowed";
    default:
      return ANOTHER_FORM;
  }
}
