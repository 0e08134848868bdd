/** Logout tokens, by which the issuer ends sessions (OpenID Connect Back-Channel Logout 1.0, section 2.4). */
import { type JWTVerifyGetKey, jwtVerify } from "jose";
import { IssuerRefused } from "./refused.ts";

const EVENT = "http://schemas.openid.net/event/backchannel-logout";
/** The longest age of a token, seconds. */
const MAX_AGE_S = 600;

/** The sessions that end: those of a subject, or one session at the issuer. */
export interface LoggedOut {
  subject: string | null;
  session: string | null;
}

interface Expected {
  issuer: string;
  audience: string;
  /** Milliseconds since the Unix epoch. */
  now: number;
  toleranceS: number;
}

/** Reads a token. @throws {IssuerRefused}, and the library's errors when the signature or the claims are not valid */
export async function readLogoutToken(
  token: string,
  keys: JWTVerifyGetKey,
  { issuer, audience, now, toleranceS }: Expected,
): Promise<LoggedOut> {
  const { payload } = await jwtVerify(token, keys, {
    issuer,
    audience,
    currentDate: new Date(now),
    clockTolerance: toleranceS,
    maxTokenAge: MAX_AGE_S,
    requiredClaims: ["iat", "jti", "events"],
  });
  const { events, nonce, sub = null, sid = null } = payload;
  // An ID token, which web pages can see, must not end sessions.
  if (nonce !== undefined) throw new IssuerRefused("a logout token with a nonce");
  if (typeof events !== "object" || events === null || !Object.hasOwn(events, EVENT)) {
    throw new IssuerRefused("a logout token without its event");
  }
  if (sid !== null && typeof sid !== "string") throw new IssuerRefused("a logout token with another sid");
  if (sub === null && sid === null) throw new IssuerRefused("a logout token for nobody");
  return { subject: sub, session: sid };
}
