/**
 * Makes and removes passkeys (W3C Web Authentication), and signs people in with them. The authenticator always verifies
 * its user, by a PIN, a finger or a face, so a passkey alone is two factors, and replaces password and code.
 */
import { showTime } from "../../ids.ts";
import { columnsDigest } from "../../log/control-effects.ts";
import { invalid, Problem } from "../../problem.ts";
import { act, INSTALLATION, type Recorded } from "../directory/acts.ts";
import type { Change } from "../directory/changes.ts";
import { type AccountRecord, findAccount } from "./accounts.ts";
import { type AccountParts, type Origin, ownEvent } from "./parts.ts";
import { countPasskeys, findPasskey, listPasskeys, markPasskeyUsed, type PasskeyRecord } from "./passkey-records.ts";
import { firstFactorCodes, hasSecondFactor } from "./second-factor.ts";
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
export function beginPasskey({ control }: AccountParts, challenges: Challenges, account: AccountRecord, base: string) {
  const rpId = rpIdOf(base);
  const present = listPasskeys(control.connection, account.id);
  if (present.length >= MAX_PASSKEYS)
    throw invalid(`An account has at most ${MAX_PASSKEYS} passkeys. Remove one first.`);
  return {
    challenge: challenges.keep({ accountId: account.id, rpId }),
    rpId,
    userId: Buffer.from(account.id).toString("base64url"),
    known: present.filter((one) => one.rpId === rpId).map(({ credentialId }) => credentialId),
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
  const { control, clock, ids } = parts;
  const record: PasskeyRecord = {
    id: ids.next("pky"),
    accountId,
    name: made.name,
    rpId,
    credentialId: made.credentialId,
    publicKey,
    counter,
    createdAt: clock(),
    lastUsedAt: null,
  };
  const added = {
    passkey_id: record.id,
    host: rpId,
    created_at: showTime(record.createdAt),
    credential_digest: columnsDigest({ credential_id: record.credentialId, public_key: publicKey }),
  };
  const { codes, auditId } = await act(parts, INSTALLATION, () => {
    if (findPasskey(control.connection, made.credentialId) !== undefined) throw badPasskey();
    const account = findAccount(control.connection, accountId) as AccountRecord;
    const first = hasSecondFactor(control.connection, account) ? null : firstFactorCodes(parts, accountId);
    const changes: Change[] = [["addPasskey", record], ...(first === null ? [] : [first.change])];
    return {
      event: ownEvent("account.add_passkey", accountId, added),
      changes,
      result: { codes: first?.codes ?? null },
    };
  });
  return { record, codes, auditId };
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
  const { control, clock } = parts;
  const attempt = parts.attempts.passkey(origin.address);
  const passkey = findPasskey(control.connection, signed.credentialId);
  const account = passkey && findAccount(control.connection, passkey.accountId);
  try {
    const asked = challenges.take(challengeIn(signed.clientData));
    if (passkey === undefined || account === undefined || asked?.accountId !== null || asked.rpId !== passkey.rpId) {
      throw badPasskey();
    }
    const counter = await signedCounter(passkey, signed, base);
    const isNoted = await control.change((connection) =>
      markPasskeyUsed(connection, passkey, { counter, at: clock() }),
    );
    if (!isNoted) throw badPasskey();
  } catch (error) {
    if (!(error instanceof Problem && error.code === "invalid_request")) throw error;
    await parts.failures.failed(origin.address, account?.id ?? null, "passkey");
    throw new Problem("sign_in_failed", "This passkey does not sign in here. Use another one, or the password.");
  }
  attempt.succeeded();
  return await startSession(parts, account, "passkey", origin);
}

async function signedCounter(passkey: PasskeyRecord, signed: PasskeySignature, base: string): Promise<number> {
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
      ...expected(passkey.rpId, clientDataJSON, base),
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

const badPasskey = () =>
  invalid("The passkey is not valid, was not asked for, or took too long. Begin again.", "passkey");

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

/**
 * Removes a passkey, and with the last factor of an account its recovery codes.
 * @throws {Problem} `passkey_not_found`
 */
export function removePasskey(parts: AccountParts, accountId: string, id: string): Promise<Recorded> {
  const { control } = parts;
  return act(parts, INSTALLATION, () => {
    if (!listPasskeys(control.connection, accountId).some((one) => one.id === id)) {
      throw new Problem("passkey_not_found", "You have no such passkey. GET /account/passkeys lists them.");
    }
    const isLast = countPasskeys(control.connection, accountId) === 1;
    const hasOther = findAccount(control.connection, accountId)?.totpSince !== null;
    const changes: Change[] = [["removePasskey", { accountId, id }]];
    if (isLast && !hasOther) changes.push(["setRecoveryCodes", { id: accountId, digests: [] }]);
    return { event: ownEvent("account.remove_passkey", accountId, { passkey_id: id }), changes };
  });
}
