/**
 * Makes and removes passkeys (W3C Web Authentication), and signs people in with them. The authenticator always verifies
 * its user, by a PIN, a finger or a face, so a passkey alone is two factors, and replaces password and code.
 */
import {
  findAccount,
  findPasskey,
  listPasskeys,
  type StoredAccount,
  type StoredPasskey,
} from "../../core/rows/access/accounts.ts";
import { invalid, Problem } from "../../problem.ts";
import { badPasskey } from "./operations/session.ts";
import { type AccountParts, asAccount, type Origin } from "./parts.ts";
import { digestsOf, newCodes } from "./second-factor.ts";
import { startSession } from "./sign-in.ts";
import type { Waiting } from "./waiting.ts";

/**
 * Imports the library at the first use of a passkey, since that takes a while. The polyfill that it needs is imported
 * before it; a bundler would not keep the order of two static imports.
 */
async function library() {
  await import("reflect-metadata");
  return import("@simplewebauthn/server");
}

/** The most passkeys of an account. */
const MAX_PASSKEYS = 20;

/** A challenge for a passkey: of an account that makes one, or with null, of a sign-in. */
export type PasskeyChallenge = { accountId: string | null; rpId: string };

/** The browser's answer for a new passkey. Texts except the name are base64url. */
interface NewPasskey {
  name: string;
  credentialId: string;
  clientData: string;
  attestation: string;
}

interface PasskeySignature {
  credentialId: string;
  clientData: string;
  authenticatorData: string;
  signature: string;
}

type Challenges = Waiting<PasskeyChallenge>;

/** Returns the host name of the dashboard, to which passkeys belong. @throws {Problem} for an IP address */
function rpIdOf(base: string): string {
  const { hostname } = new URL(base);
  if (!/^[\d.]+$|^\[/.test(hostname)) return hostname;
  throw invalid("A passkey belongs to a host name. Open the dashboard by its name, and not by its address.");
}

/** Begins to make a passkey. Returns the browser's options. */
export async function beginPasskey(
  { installation }: AccountParts,
  challenges: Challenges,
  account: StoredAccount,
  base: string,
) {
  const rpId = rpIdOf(base);
  const present = await listPasskeys(installation.connection, account.id);
  if (present.length >= MAX_PASSKEYS)
    throw invalid(`An account has at most ${MAX_PASSKEYS} passkeys. Remove one first.`);
  return {
    challenge: challenges.keep({ accountId: account.id, rpId }),
    rpId,
    userId: Buffer.from(account.id).toString("base64url"),
    known: present.filter((one) => one.host === rpId).map(({ credentialId }) => credentialId),
  };
}

/**
 * Adds a passkey. Returns recovery codes, shown only once, with the first factor of an account; null with any other.
 * @throws {Problem} `invalid_request`
 */
export async function addPasskey(
  parts: AccountParts,
  challenges: Challenges,
  { accountId, base }: { accountId: string; base: string },
  made: NewPasskey,
) {
  const asked = challenges.take(challengeIn(made.clientData));
  if (asked === null || asked.accountId !== accountId) throw badPasskey();
  const { rpId } = asked;
  const { publicKey, counter } = await registered(made, asked, base);
  const { name, credentialId } = made;
  const codes = newCodes(parts);
  const { body, auditId } = await parts.workspaces.change(asAccount(parts, accountId), "account.add_passkey", {
    ...{ accountId, passkey: { name, host: rpId, credentialId, publicKey, counter }, codes: digestsOf(codes) },
  });
  const record = (await findPasskey(parts.installation.connection, credentialId)) as StoredPasskey;
  return { record, codes: body.is_first === true ? codes : null, auditId };
}

async function registered(made: NewPasskey, { rpId }: PasskeyChallenge, base: string) {
  const { credentialId: id, clientData: clientDataJSON, attestation: attestationObject } = made;
  const { verifyRegistrationResponse } = await library();
  const { verified, registrationInfo } = await checked(() =>
    verifyRegistrationResponse({
      response: {
        id,
        rawId: id,
        type: "public-key",
        response: { clientDataJSON, attestationObject },
        clientExtensionResults: {},
      },
      ...expected(rpId, clientDataJSON, base),
    }),
  );
  if (!verified || registrationInfo === undefined || registrationInfo.credential.id !== id) throw badPasskey();
  const { publicKey, counter } = registrationInfo.credential;
  return { publicKey: Buffer.from(publicKey).toString("base64url"), counter };
}

/** Begins a sign-in with a passkey. The account is not known yet. */
export function beginPasskeySignIn(challenges: Challenges, base: string) {
  const rpId = rpIdOf(base);
  return { challenge: challenges.keep({ accountId: null, rpId }), rpId };
}

/**
 * Signs in with a passkey.
 * @throws {Problem} `sign_in_failed`, `issuer_only`, `rate_limited`, `unavailable`
 */
export async function signInByPasskey(
  parts: AccountParts,
  challenges: Challenges,
  signed: PasskeySignature,
  { origin, base }: { origin: Origin; base: string },
) {
  const { connection: reader } = parts.installation;
  const attempt = parts.attempts.passkey(origin.address);
  const passkey = await findPasskey(reader, signed.credentialId);
  const account = passkey && (await findAccount(reader, passkey.accountId));
  try {
    const asked = challenges.take(challengeIn(signed.clientData));
    if (passkey === undefined || account === undefined || asked?.accountId !== null || asked.rpId !== passkey.host) {
      throw badPasskey();
    }
    const counter = await signedCounter(passkey, signed, base);
    const proof = { passkeyId: passkey.id, before: passkey.counter, counter };
    const started = await startSession(parts, account, proof, origin);
    attempt.succeeded();
    return started;
  } catch (error) {
    if (!(error instanceof Problem && error.code === "invalid_request")) throw error;
    await parts.failures.failed(origin.address, account?.id ?? null, "passkey");
    throw new Problem("sign_in_failed", "This passkey does not sign in here. Use another one, or the password.");
  }
}

async function signedCounter(passkey: StoredPasskey, signed: PasskeySignature, base: string): Promise<number> {
  const { credentialId: id, clientData: clientDataJSON, authenticatorData, signature } = signed;
  const { verifyAuthenticationResponse } = await library();
  const { verified, authenticationInfo } = await checked(() =>
    verifyAuthenticationResponse({
      response: {
        id,
        rawId: id,
        type: "public-key",
        response: { clientDataJSON, authenticatorData, signature },
        clientExtensionResults: {},
      },
      credential: {
        id,
        publicKey: new Uint8Array(Buffer.from(passkey.publicKey, "base64url")),
        counter: passkey.counter,
      },
      ...expected(passkey.host, clientDataJSON, base),
    }),
  );
  if (!verified) throw badPasskey();
  return authenticationInfo.newCounter;
}

/** Returns what a signature must match: the origin, which must have the passkey's host name, and the challenge. */
function expected(rpId: string, clientData: string, base: string) {
  if (new URL(base).hostname !== rpId) throw badPasskey();
  return {
    expectedChallenge: challengeIn(clientData) ?? "",
    expectedOrigin: new URL(base).origin,
    expectedRPID: rpId,
    requireUserVerification: true,
  };
}

/** Runs a check of the library, and replaces its errors, whose messages repeat what was sent. */
async function checked<T>(check: () => Promise<T>): Promise<T> {
  try {
    return await check();
  } catch {
    throw badPasskey();
  }
}

/** Returns the challenge in a browser's client data; null when the text is not client data. */
function challengeIn(clientData: string): string | null {
  try {
    const said = JSON.parse(Buffer.from(clientData, "base64url").toString()) as { challenge?: unknown } | null;
    return typeof said?.challenge === "string" ? said.challenge : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}
