/** Tokens that workloads send: JSON Web Tokens (RFC 7519) of an issuer whose keys are known. */
import type { JWTPayload, JWTVerifyGetKey } from "jose";
import { MOST_ACTORS, type Party } from "../details.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { IssuerRefused } from "./refused.ts";
import { audiencesOf, verifiedClaims, wrongClaim } from "./signed-token.ts";

/** How far the clocks of an issuer and of this machine may differ, seconds. */
const TOKEN_TOLERANCE_S = 60;
/** The longest subject. It becomes part of the record. */
const MAX_SUBJECT = 1_024;

/** The claims of a valid token. */
export interface WorkloadToken {
  subject: string;
  audiences: readonly string[];
  claims: JsonObject;
  /** The subject, then the actors, the present one first; absent when nobody acts for the subject. */
  onBehalfOf?: readonly Party[];
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
  const required = ["sub", "aud", "exp"];
  const expected = { issuer, audience: null, required, nowMs, toleranceS: TOKEN_TOLERANCE_S };
  const claims = await verifiedClaims(token, keys, expected);
  const { sub, exp } = claims;
  if (!isRecordable(sub)) throw new IssuerRefused("its subject cannot be recorded");
  const expiresAt = ((exp as number) + TOKEN_TOLERANCE_S) * 1_000;
  const onBehalfOf = claims.act === undefined ? undefined : partiesOf(claims.iss, sub, claims.act);
  return { subject: sub, audiences: audiencesOf(claims), claims, expiresAt, ...(onBehalfOf && { onBehalfOf }) };
}

const isRecordable = (text: JsonValue | undefined): text is string =>
  typeof text === "string" && text !== "" && text.length <= MAX_SUBJECT && text.isWellFormed();

/**
 * Returns the subject and the actors of a token (RFC 8693 section 4.1). The claim of the present actor has that of the one
 * before it, and so on. Those beyond {@link MOST_ACTORS} are checked, too, but not returned.
 * @throws {IssuerRefused} when one of them cannot be recorded
 */
function partiesOf(issuer: string, subject: string, outermost: JsonValue) {
  const parties: Party[] = [{ iss: issuer, sub: subject }];
  for (let act: JsonValue | undefined = outermost; act !== undefined; act = act.act) {
    if (!isJsonObject(act) || !isRecordable(act.sub)) throw wrongClaim("act");
    if (act.iss !== undefined && !isRecordable(act.iss)) throw wrongClaim("act");
    if (parties.length <= MOST_ACTORS) parties.push({ iss: act.iss ?? null, sub: act.sub });
  }
  return parties;
}
