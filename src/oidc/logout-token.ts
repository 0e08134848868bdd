/** Logout tokens, by which the issuer ends sessions (OpenID Connect Back-Channel Logout 1.0, section 2.4). */
import type { JWTVerifyGetKey } from "jose";
import { isJsonObject } from "../json.ts";
import { IssuerRefused } from "./refused.ts";
import { type Expected, verifiedClaims, wrongClaim } from "./signed-token.ts";

const EVENT = "http://schemas.openid.net/event/backchannel-logout";
/** The longest age of a token, seconds. */
const MAX_AGE_S = 600;

/** The sessions that end: those of a subject, or one session at the issuer. */
export interface LoggedOut {
  subject: string | null;
  session: string | null;
}

/** Reads a token. @throws {IssuerRefused}, and what `keys` throws */
export async function readLogoutToken(
  token: string,
  keys: JWTVerifyGetKey,
  expected: Omit<Expected, "required" | "maxAgeS">,
): Promise<LoggedOut> {
  const required = ["iat", "jti", "events"];
  const claims = await verifiedClaims(token, keys, { ...expected, required, maxAgeS: MAX_AGE_S });
  const { events, nonce, sub = null, sid = null } = claims;
  // An ID token, which web pages can see, must not end sessions.
  if (nonce !== undefined) throw new IssuerRefused("it has a nonce");
  if (!isJsonObject(events) || !Object.hasOwn(events, EVENT)) throw wrongClaim("events");
  if (sid !== null && typeof sid !== "string") throw wrongClaim("sid");
  if (sub !== null && typeof sub !== "string") throw wrongClaim("sub");
  if (sub === null && sid === null) throw new IssuerRefused("it is for nobody");
  return { subject: sub, session: sid };
}
