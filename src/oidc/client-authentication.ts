/** How the daemon proves to an issuer which client it is: as the issuer's metadata say. */
import { type ClientAuth, ClientSecretBasic, ClientSecretPost, None, type ServerMetadata } from "openid-client";
import { IssuerRefused } from "./refused.ts";

/** The methods of a client with a secret (OpenID Connect Core section 9), the better one first. */
const METHODS = { client_secret_basic: ClientSecretBasic, client_secret_post: ClientSecretPost };

/** What an issuer supports that does not say it (OpenID Connect Discovery section 3). */
const UNSAID = ["client_secret_basic"];

/**
 * Returns the authentication of a client. `secret` is null for a public client.
 * @throws {IssuerRefused} when the issuer announces no method that uses the secret
 */
export function clientAuthentication(
  {
    token_endpoint_auth_methods_supported: announced = UNSAID,
  }: Pick<ServerMetadata, "token_endpoint_auth_methods_supported">,
  secret: string | null,
): ClientAuth {
  if (secret === null) return None();
  for (const [name, method] of Object.entries(METHODS)) if (announced.includes(name)) return method(secret);
  const known = announced.filter((one) => typeof one === "string" && /^\w{1,40}$/.test(one)).slice(0, 10);
  throw new IssuerRefused(
    `it announces ${known.join(", ") || "nothing known"} for its token endpoint, and governd can use ${Object.keys(METHODS).join(" and ")}`,
    "client_settings",
  );
}
