/** The API's schemas of passkeys. */
import { Type as t } from "@sinclair/typebox";
import { nullable, shape, Time } from "../../../api/shapes.ts";
import { GivenName, idOf } from "./schema.ts";

const base64Url = (maxLength: number, description: string, example: string) =>
  t.String({ pattern: "^[A-Za-z0-9_-]+$", maxLength, description, examples: [example] });

const CredentialId = base64Url(1_400, "`id` of the credential.", "dGhlIGNyZWRlbnRpYWw");
const ClientData = base64Url(8_000, "`response.clientDataJSON`, in base64url.", "eyJ0eXBlIjoid2ViYXV0aG4uZ2V0In0");

/** A browser's answer for a new passkey. */
export const newPasskey = {
  credential_id: CredentialId,
  client_data: ClientData,
  attestation: base64Url(64_000, "`response.attestationObject`, in base64url.", "o2NmbXRkbm9uZQ"),
};

/** A browser's answer for a sign-in with a passkey. */
export const passkeySignature = {
  credential_id: CredentialId,
  client_data: ClientData,
  authenticator_data: base64Url(8_000, "`response.authenticatorData`, in base64url.", "SZYN5YgOjGh0NBcP"),
  signature: base64Url(8_000, "`response.signature`, in base64url.", "MEUCIQDmLQ"),
};

export const PasskeyShape = shape("Passkey", {
  id: idOf("pky"),
  name: GivenName,
  host: t.String({ description: "The host name under which it works.", examples: ["governd.example.org"] }),
  created_at: Time,
  last_used_at: nullable(Time),
});

const Challenge = t.String({ examples: ["u2sG1Q3ZyV7kX0bW5mTn8cRp4aLd6eHf9jKoPqSrTvY"] });

export const PasskeyBegun = shape("PasskeyBegun", {
  challenge: Challenge,
  host: t.String({
    description: "The host name that the passkey is for (`rp.id`).",
    examples: ["governd.example.org"],
  }),
  user_id: t.String({ description: "`user.id`, in base64url.", examples: ["dXNyXzAx"] }),
  known: { ...t.Array(CredentialId), description: "Credentials that the account has under this name." },
});

export const PasskeyAsked = shape("PasskeyAsked", {
  challenge: Challenge,
  host: t.String({ description: "`rpId`.", examples: ["governd.example.org"] }),
});

export const PasskeyAdded = shape("PasskeyAdded", {
  passkey: PasskeyShape,
  recovery_codes: nullable(t.Array(t.String({ examples: ["xxxx-xxxx-xxxx-xxxx"] }))),
});
