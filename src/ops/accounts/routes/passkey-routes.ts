/** The routes of passkeys: making, listing and removing them, and signing in with one. */

import { route } from "../../../api/route.ts";
import { listWithoutPages, object } from "../../../api/shapes.ts";
import { listPasskeys } from "../../../core/rows/access/accounts.ts";
import { asAccount } from "../parts.ts";
import { addPasskey, beginPasskey, beginPasskeySignIn, signInByPasskey } from "../passkeys.ts";
import { confirmPassword } from "../sign-in.ts";
import { cookiesOf } from "./entry-routes.ts";
import * as shapes from "./passkey-schema.ts";
import * as schema from "./schema.ts";
import { showPasskey, showSignedIn } from "./show.ts";

export const passkeyRoutes = [
  route({
    by: "session",
    name: "begin_passkey",
    at: "POST /account/passkeys/begin",
    body: object({ password: schema.Password }),
    summary: "Begin a passkey",
    description:
      "Returns what `navigator.credentials.create` needs beside `residentKey` and `userVerification`, which must be `required`.",
    response: { description: "The challenge.", schema: shapes.PasskeyBegun },
    problems: ["password_wrong"],
    async run({ body, signedIn, base }, { parts, passkeys }) {
      const account = await confirmPassword(parts, signedIn.session, body.password);
      const { challenge, rpId: host, userId, known } = await beginPasskey(parts, passkeys, account, base);
      return { body: { challenge, host, user_id: userId, known } };
    },
  }),

  route({
    by: "session",
    name: "add_passkey",
    at: "POST /account/passkeys",
    status: 201,
    body: object({ name: schema.Name, ...shapes.newPasskey }),
    summary: "Add a passkey",
    description:
      "With what the browser made. From then on the password alone does not sign in. The first factor of an account comes with recovery codes, shown only once.",
    recordedAs: ["account.add_passkey"],
    response: { description: "The passkey.", schema: shapes.PasskeyAdded },
    async run({ body, signedIn, base }, { parts, passkeys }) {
      const made = {
        name: body.name,
        credentialId: body.credential_id,
        clientData: body.client_data,
        attestation: body.attestation,
      };
      const { record, codes, auditId } = await addPasskey(
        parts,
        passkeys,
        { accountId: signedIn.accountId, base },
        made,
      );
      return { body: { passkey: showPasskey(record), recovery_codes: codes }, auditId };
    },
  }),

  route({
    by: "session",
    name: "list_passkeys",
    at: "GET /account/passkeys",
    summary: "List passkeys",
    description: "Oldest first.",
    response: { description: "The passkeys.", schema: listWithoutPages(shapes.PasskeyShape) },
    run: async ({ signedIn }, { parts }) => ({
      body: { data: (await listPasskeys(parts.installation.connection, signedIn.accountId)).map(showPasskey) },
    }),
  }),

  route({
    by: "session",
    name: "remove_passkey",
    at: "POST /account/passkeys/:id/remove",
    body: object({ password: schema.Password }),
    summary: "Remove a passkey",
    description:
      "With the last factor, the recovery codes go, and workspaces that require a second factor are locked for the account.",
    recordedAs: ["account.remove_passkey"],
    problems: ["password_wrong", "passkey_not_found"],
    async run({ params, body, signedIn }, { parts }) {
      const account = await confirmPassword(parts, signedIn.session, body.password);
      const input = { accountId: account.id, passkeyId: params.id };
      const { auditId } = await parts.workspaces.change(asAccount(parts, account.id), "account.remove_passkey", input);
      return { auditId };
    },
  }),

  route({
    by: "anyone",
    name: "begin_passkey_sign_in",
    at: "POST /account/sign-in/passkey/begin",
    summary: "Begin to sign in with a passkey",
    description: "Returns what `navigator.credentials.get` needs beside `userVerification`, which must be `required`.",
    response: { description: "The challenge.", schema: shapes.PasskeyAsked },
    run({ base }, { passkeys }) {
      const { challenge, rpId: host } = beginPasskeySignIn(passkeys, base);
      return { body: { challenge, host } };
    },
  }),

  route({
    by: "anyone",
    name: "sign_in_by_passkey",
    at: "POST /account/sign-in/passkey",
    body: object(shapes.passkeySignature),
    summary: "Sign in with a passkey",
    description: "Starts a session. The passkey stands for password and code.",
    recordedAs: ["account.sign_in"],
    response: { description: "Who is signed in.", schema: schema.WhoAmI, sends: ["Set-Cookie"] },
    problems: ["sign_in_failed", "issuer_only"],
    async run({ body, base, origin }, { parts, passkeys }) {
      const signed = {
        credentialId: body.credential_id,
        clientData: body.client_data,
        authenticatorData: body.authenticator_data,
        signature: body.signature,
      };
      const { account, begun, auditId } = await signInByPasskey(parts, passkeys, signed, { origin, base });
      return { body: await showSignedIn(parts, account, begun.session), cookies: cookiesOf(begun), auditId };
    },
  }),
];
