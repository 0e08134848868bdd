/** What the errors of the libraries and of the network mean for a sign-in. */
import * as openid from "openid-client";
import type { Cause } from "./causes.ts";
import { IssuerRefused, type IssuerTrouble, IssuerUnavailable, isIssuerTrouble } from "./refused.ts";

/** Codes of the libraries that say that the issuer itself failed: no answer in time, or one that is not of the protocol. */
const UNAVAILABLE = new Set([
  "OAUTH_TIMEOUT",
  "OAUTH_RESPONSE_IS_NOT_JSON",
  "OAUTH_PARSE_ERROR",
  "ERR_JWKS_TIMEOUT",
  "ERR_JWKS_INVALID",
  "ERR_JOSE_GENERIC",
  // Codes of the issuer (RFC 6749 section 4.1.2.1).
  "server_error",
  "temporarily_unavailable",
]);

/** What an issuer's own codes mean (RFC 6749 sections 4.1.2.1 and 5.2, OpenID Connect Core section 3.1.2.6). */
const MEANINGS: ReadonlyMap<string, Cause> = new Map([
  ["access_denied", "access_denied"],
  ["login_required", "access_denied"],
  ["interaction_required", "access_denied"],
  ["consent_required", "access_denied"],
  ["account_selection_required", "access_denied"],
  ["invalid_client", "client_secret"],
  ["OAUTH_WWW_AUTHENTICATE_CHALLENGE", "client_secret"],
  // The code has expired or was used.
  ["invalid_grant", "invalid_answer"],
]);

/** Returns what an error means for a sign-in. */
export function troubleOf(error: unknown): IssuerTrouble {
  if (isIssuerTrouble(error)) return error;
  const reason = reasonOf(error);
  const options = { cause: error };
  const status = statusIn(error);
  if (status !== null && status < 500) return new IssuerRefused(reason, "invalid_answer", options);
  const isOfProtocol = error instanceof Error && "code" in error && /^(OAUTH|ERR_J)/.test(String(error.code));
  if (status !== null || !isOfProtocol || UNAVAILABLE.has(reason)) return new IssuerUnavailable(reason, options);
  const otherwise = wordOfIssuer(error) === null ? "invalid_answer" : "client_settings";
  return new IssuerRefused(reason, MEANINGS.get(reason) ?? otherwise, options);
}

/** Returns the status of an answer that is not one of the protocol; null when the error is another one. */
function statusIn(error: unknown): number | null {
  return error instanceof openid.ClientError && error.cause instanceof Response && error.cause.status !== 200
    ? error.cause.status
    : null;
}

/** Returns the code with which the issuer refuses; null when the error is another one. */
function wordOfIssuer(error: unknown): string | null {
  const isOfIssuer = error instanceof openid.AuthorizationResponseError || error instanceof openid.ResponseBodyError;
  return isOfIssuer && /^[a-z_]{1,40}$/.test(error.error) ? error.error : null;
}

/**
 * Returns a word for the log: a code of the library, of OAuth (RFC 6749 section 5.2) or of the system; no text of the
 * issuer.
 */
function reasonOf(error: unknown): string {
  const word = wordOfIssuer(error);
  if (word !== null) return word;
  if (isIssuerTrouble(error)) return error.reason;
  const status = statusIn(error);
  if (status !== null) return `it answers ${status}`;
  const { code, cause } = error instanceof Error ? (error as Error & { code?: unknown }) : { code: "", cause: null };
  if (typeof code === "string" && code !== "") return code;
  return cause instanceof Error ? reasonOf(cause) : error instanceof Error ? error.name : "unknown";
}
