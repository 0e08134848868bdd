/** Creates and uses passkeys in the browser (W3C Web Authentication), in the form that the API expects. */
import { ask } from "./client.ts";
import { ApiProblem } from "./problem.ts";
import type { PasskeyAdded, PasskeyAsked, PasskeyBegun, SignedIn } from "./types.ts";

/** COSE algorithms that authenticators have: EdDSA, ES256, RS256. */
const ALGORITHMS = [-8, -7, -257];
/** How long the person may take, ms. */
const TIMEOUT_MS = 5 * 60_000;

/** Reports whether this browser supports passkeys, which it does only on pages over TLS. */
export const hasPasskeys = (): boolean => typeof PublicKeyCredential === "function";

/**
 * Returns the problem when there is no passkey: the person declined or took too long, or the authenticator has it
 * already.
 */
const noPasskey = (detail: string) => new ApiProblem(0, { title: "No passkey", detail, code: "no_passkey" });

/** Makes a passkey and adds it to the account. @throws {ApiProblem} */
export async function addPasskey(
  { name, password }: { name: string; password: string },
  user: { email: string; name: string },
): Promise<PasskeyAdded> {
  const begun = await ask<PasskeyBegun>("/account/passkeys/begin", { body: { password } });
  const made = await asked(() =>
    navigator.credentials.create({
      publicKey: {
        challenge: bytesOf(begun.challenge),
        rp: { id: begun.host, name: "governd" },
        user: { id: bytesOf(begun.user_id), name: user.email, displayName: user.name },
        pubKeyCredParams: ALGORITHMS.map((alg) => ({ type: "public-key", alg })),
        excludeCredentials: begun.known.map((id) => ({ type: "public-key", id: bytesOf(id) })),
        authenticatorSelection: { residentKey: "required", requireResidentKey: true, userVerification: "required" },
        attestation: "none",
        timeout: TIMEOUT_MS,
      },
    }),
  );
  const { clientDataJSON, attestationObject } = made.response as AuthenticatorAttestationResponse;
  return await ask<PasskeyAdded>("/account/passkeys", {
    body: { name, credential_id: made.id, client_data: textOf(clientDataJSON), attestation: textOf(attestationObject) },
  });
}

/**
 * Signs in with a passkey. With `signal`, the browser only offers passkeys where the mail address is typed, until one
 * is chosen or the signal ends it.
 * @throws {ApiProblem}
 */
export async function signInByPasskey(signal?: AbortSignal): Promise<SignedIn> {
  const begun = await ask<PasskeyAsked>("/account/sign-in/passkey/begin", { method: "POST", signal });
  const used = await asked(() =>
    navigator.credentials.get({
      ...(signal && { mediation: "conditional", signal }),
      publicKey: {
        challenge: bytesOf(begun.challenge),
        rpId: begun.host,
        userVerification: "required",
        timeout: TIMEOUT_MS,
      },
    }),
  );
  const { clientDataJSON, authenticatorData, signature } = used.response as AuthenticatorAssertionResponse;
  return await ask<SignedIn>("/account/sign-in/passkey", {
    body: {
      credential_id: used.id,
      client_data: textOf(clientDataJSON),
      authenticator_data: textOf(authenticatorData),
      signature: textOf(signature),
    },
  });
}

/** Whether the browser can offer passkeys where the mail address is typed. */
export async function offersPasskeys(): Promise<boolean> {
  return hasPasskeys() && (await PublicKeyCredential.isConditionalMediationAvailable?.()) === true;
}

async function asked(ask: () => Promise<Credential | null>): Promise<PublicKeyCredential> {
  try {
    const found = await ask();
    if (found !== null) return found as PublicKeyCredential;
  } catch (error) {
    if (!(error instanceof DOMException)) throw error;
    const present = error.name === "InvalidStateError";
    throw noPasskey(present ? "This authenticator has a passkey of the account already." : REFUSED);
  }
  throw noPasskey(REFUSED);
}

const REFUSED = "The browser gave no passkey. Try again, or use another way.";

const bytesOf = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (one) => one.charCodeAt(0));

const textOf = (bytes: ArrayBuffer): string =>
  btoa(Array.from(new Uint8Array(bytes), (one) => String.fromCharCode(one)).join(""))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replace(/=+$/, "");
