/**
 * What issuers answer, in the form that the libraries accept. Many issuers write null, or an empty text, for what they
 * leave out, and describe themselves with or without a slash at the end.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";

/** Parses JSON. Members of objects that are null count as absent. @throws {SyntaxError} */
export const parseAnswer = (text: string): unknown =>
  JSON.parse(text, (_name, value: JsonValue) => (value === null ? undefined : value));

/** Returns an issuer's address without a slash at its end. Addresses that differ in nothing else name the same issuer. */
export const plainIssuer = (issuer: string): string => issuer.replace(/\/$/, "");

/** Returns the address of an issuer's metadata (OpenID Connect Discovery section 4). */
export const metadataAddress = (issuer: string): string => `${plainIssuer(issuer)}/.well-known/openid-configuration`;

/** Returns a set of keys (RFC 7517 section 5) without items that are no keys. */
export const keySet = (set: JsonObject): JsonObject =>
  Array.isArray(set.keys) ? { ...set, keys: set.keys.filter(isJsonObject) } : set;

/**
 * The member of a token answer with the ID token. The library would verify it by rules of its own, under which a claim
 * that is null is not valid; the daemon verifies it like every other token (signed-token.ts).
 */
export const ID_TOKEN = "governd_id_token";

/**
 * Returns what counts of a token answer (RFC 6749 section 5.1). Nothing depends on how long the access token is valid, on
 * its scope or on a refresh token. It is used once, as a bearer's.
 */
function tokenAnswer({ access_token, token_type, id_token, error }: JsonObject): JsonObject {
  if (typeof error === "string" && error !== "") return { error };
  return { access_token: access_token ?? "", token_type: token_type || "Bearer", [ID_TOKEN]: id_token ?? "" };
}

/** Returns a response with its JSON in the form that the libraries accept. */
export async function accepted(response: Response, of: { isTokenAnswer: boolean }): Promise<Response> {
  const text = acceptedText(await response.text(), of);
  const headers = new Headers(response.headers);
  for (const name of ["content-length", "content-encoding"]) headers.delete(name);
  return new Response(text === "" ? null : text, { status: response.status, headers });
}

function acceptedText(text: string, { isTokenAnswer }: { isTokenAnswer: boolean }): string {
  let answer: unknown;
  try {
    answer = parseAnswer(text);
  } catch (error) {
    // A signed answer, or one of which the library says what is wrong.
    if (error instanceof SyntaxError) return text;
    throw error;
  }
  if (!isJsonObject(answer)) return text;
  return JSON.stringify(isTokenAnswer ? tokenAnswer(answer) : keySet(answer));
}
