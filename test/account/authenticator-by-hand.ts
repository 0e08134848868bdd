/**
 * An authenticator of passkeys, and the browser before it, that can be told to break any rule (W3C Web Authentication
 * Level 3). It has a P-256 key for each passkey, attests nothing, and verifies its user.
 */
import { createHash, randomBytes } from "node:crypto";
import { type Browser, PASSWORD } from "./browser.ts";

const FLAGS = { present: 0x01, verified: 0x04, attested: 0x40 };
const ES256 = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };

/** What it does wrong. */
export interface WrongPasskey {
  origin?: string;
  type?: string;
  challenge?: string;
  rpId?: string;
  /** The user was only present. */
  unverified?: true;
  counter?: number;
  /** Signs with another key. */
  key?: true;
}

const sha256 = (text: string | Uint8Array) => createHash("sha256").update(text).digest();
const base64url = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64url");

export class AuthenticatorByHand {
  readonly credentialId = base64url(randomBytes(16));
  #counter = 0;

  private constructor(private readonly keys: CryptoKeyPair) {}

  static async make(): Promise<AuthenticatorByHand> {
    return new AuthenticatorByHand(await crypto.subtle.generateKey(ES256, true, ["sign", "verify"]));
  }

  /** Returns the body of `POST /account/passkeys`, without a name. */
  async register({ challenge, host }: { challenge: string; host: string }, wrong: WrongPasskey = {}) {
    const { x = "", y = "" } = await crypto.subtle.exportKey("jwk", this.keys.publicKey);
    const id = Buffer.from(this.credentialId, "base64url");
    // COSE: kty EC2, alg ES256, crv P-256, x, y.
    const coordinates = [x, y].map((text) => Buffer.from(text, "base64url"));
    const key = Buffer.concat([
      Buffer.from("a5010203262001215820", "hex"),
      coordinates[0] as Buffer,
      Buffer.from("225820", "hex"),
      coordinates[1] as Buffer,
    ]);
    const attested = Buffer.concat([Buffer.alloc(16), Buffer.from([0, id.length]), id, key]);
    const data = Buffer.concat([this.#data(host, wrong, FLAGS.attested), attested]);
    // CBOR: {"fmt": "none", "attStmt": {}, "authData": bytes}.
    const attestation = Buffer.concat([
      Buffer.from("a363666d74646e6f6e656761747453746d74a0686175746844617461", "hex"),
      Buffer.from([0x58, data.length]),
      data,
    ]);
    return {
      credential_id: this.credentialId,
      client_data: base64url(clientData("webauthn.create", challenge, host, wrong)),
      attestation: base64url(attestation),
    };
  }

  /** Returns the body of `POST /account/sign-in/passkey`. */
  async sign({ challenge, host }: { challenge: string; host: string }, wrong: WrongPasskey = {}) {
    const said = clientData("webauthn.get", challenge, host, wrong);
    const data = this.#data(host, wrong);
    const { privateKey } = wrong.key ? (await AuthenticatorByHand.make()).keys : this.keys;
    const signed = await crypto.subtle.sign(ES256, privateKey, Buffer.concat([data, sha256(said)]));
    return {
      credential_id: this.credentialId,
      client_data: base64url(said),
      authenticator_data: base64url(data),
      signature: base64url(asDer(new Uint8Array(signed))),
    };
  }

  #data(host: string, { rpId = host, unverified, counter }: WrongPasskey, further = 0): Buffer {
    const flags = FLAGS.present | (unverified ? 0 : FLAGS.verified) | further;
    const count = Buffer.alloc(4);
    count.writeUInt32BE(counter ?? ++this.#counter);
    return Buffer.concat([sha256(rpId), Buffer.from([flags]), count]);
  }
}

/** What a page sends that was opened by the name `host`, which the passkeys of tests belong to. */
export const byName = (host = HOST) => ({ headers: { host }, origin: `https://${host}` });

export const HOST = "governd.example.org";

/** Returns the challenge for a new passkey of whoever is signed in. */
export const newChallenge = async (browser: Browser) =>
  (await browser.visit({ path: "/account/passkeys/begin", body: { password: PASSWORD }, ...byName() })).json;

/** Returns the challenge for a sign-in. */
export const signInChallenge = async (browser: Browser, host = HOST) =>
  (await browser.visit({ method: "POST", path: "/account/sign-in/passkey/begin", ...byName(host) })).json;

/** Makes a passkey for whoever is signed in. */
export async function madePasskey(browser: Browser, name = "phone") {
  const authenticator = await AuthenticatorByHand.make();
  const body = { name, ...(await authenticator.register(await newChallenge(browser))) };
  const { status, json } = await browser.visit({ path: "/account/passkeys", body, ...byName() });
  if (status !== 201) throw new Error(`the passkey was refused: ${status}`);
  return { authenticator, id: json.passkey.id as string, codes: json.recovery_codes as string[] | null, json };
}

function clientData(type: string, challenge: string, host: string, wrong: WrongPasskey): Buffer {
  return Buffer.from(
    JSON.stringify({
      type: wrong.type ?? type,
      challenge: wrong.challenge ?? challenge,
      origin: wrong.origin ?? `https://${host}`,
      crossOrigin: false,
    }),
  );
}

/** ECDSA-Sig-Value (RFC 3279 section 2.2.3) of the two numbers one after the other. */
function asDer(signature: Uint8Array): Uint8Array {
  const integer = (bytes: Uint8Array): Uint8Array => {
    let from = 0;
    while (from < bytes.length - 1 && bytes[from] === 0) from++;
    const plain = bytes.subarray(from);
    const padded = (plain[0] as number) >= 0x80 ? Uint8Array.of(0, ...plain) : plain;
    return Uint8Array.of(0x02, padded.length, ...padded);
  };
  const both = [...integer(signature.subarray(0, 32)), ...integer(signature.subarray(32))];
  return Uint8Array.of(0x30, both.length, ...both);
}
