/**
 * Signed notes after C2SP signed-note: a text, an empty line, and signature lines
 *
 *   — <key name> <base64 of 4 bytes key id ‖ signature>
 *
 * Only Ed25519 is made here (type 0x01). Witnesses sign with Ed25519 or ML-DSA-44 (witness.ts). Signatures of unknown keys
 * are kept and otherwise ignored.
 */
import { createPublicKey, type KeyObject, sign, verify } from "node:crypto";
import { SHA256 } from "bun";

/** Signature types of C2SP signed-note: of a log, and of witnesses. */
const SIGNATURE_ED25519 = 0x01;
export const SIGNATURE_COSIGNATURE_V1 = 0x04;
export const SIGNATURE_SUBTREE_V1 = 0x06;

/** The most signatures that a note may carry, and its longest text, characters. */
const MAX_NOTE_SIGNATURES = 100;
const MAX_NOTE_CHARS = 256 * 1024;

const KEY_ID_BYTES = 4;
/** How long a public key is, bytes, by the type of its signatures. */
const PUBLIC_KEY_BYTES: Readonly<Record<number, number>> = {
  [SIGNATURE_ED25519]: 32,
  [SIGNATURE_COSIGNATURE_V1]: 32,
  [SIGNATURE_SUBTREE_V1]: 1312,
};

/** A text is not a signed note, or a key is not a verifier key. */
export class NoteError extends Error {
  override readonly name = "NoteError";
}

/** One signature line. */
export interface NoteSignature {
  name: string;
  keyId: number;
  signature: Uint8Array;
}

/** A note taken apart; nothing is verified yet. `text` ends with a newline. */
export interface SignedNote {
  text: string;
  signatures: NoteSignature[];
}

/** A public key under the name that it signs with. */
export interface VerifierKey {
  name: string;
  keyId: number;
  type: number;
  /** Raw: 32 bytes of Ed25519, or 1312 of ML-DSA-44. */
  publicKey: Uint8Array;
}

/** Whoever makes signatures; the private key may be anywhere. */
export interface NoteSigner {
  name: string;
  keyId: number;
  sign(text: string): Uint8Array;
}

/**
 * The fingerprint by which events and people name a key: SHA-256(0x01 ‖ key), hex. The first byte is the type of Ed25519, so
 * that a key is named with its algorithm.
 */
export const fingerprintOf = (publicKey: Uint8Array): string =>
  new SHA256().update(Uint8Array.of(SIGNATURE_ED25519)).update(publicKey).digest("hex");

/** Returns a key id: the first four bytes of SHA-256(name ‖ "\n" ‖ type ‖ public key), big-endian. */
export function keyId(name: string, type: number, publicKey: Uint8Array): number {
  const hash = new SHA256().update(`${name}\n`).update(Uint8Array.of(type)).update(publicKey).digest() as Uint8Array;
  return new DataView(hash.buffer, hash.byteOffset).getUint32(0);
}

/** A key under a name. @throws NoteError when the name or the key's length is not allowed */
export function verifierKey(name: string, publicKey: Uint8Array, type = SIGNATURE_ED25519): VerifierKey {
  if (!isKeyName(name)) throw new NoteError("a key name is not empty and has neither spaces nor +");
  if (publicKey.length !== PUBLIC_KEY_BYTES[type])
    throw new NoteError("the public key has another length than its type");
  return { name, keyId: keyId(name, type, publicKey), type, publicKey };
}

/** The text form of a verifier key: `name+hexkeyid+base64(type ‖ key)`. */
export const formatVerifierKey = ({ name, keyId: id, type, publicKey }: VerifierKey): string =>
  `${name}+${hexId(id)}+${Buffer.from([type, ...publicKey]).toString("base64")}`;

/**
 * Reads a verifier key.
 * @param types those that the key may have: by default that of a log's key
 * @throws NoteError when it is none, has another type, or its id is not that of its name and key
 */
export function parseVerifierKey(text: string, types: readonly number[] = [SIGNATURE_ED25519]): VerifierKey {
  const parts = /^([^+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)$/.exec(text);
  const bytes = parts && fromBase64(parts[3] as string);
  if (!parts || !bytes) throw new NoteError("a verifier key has the form name+hash+key");
  const type = bytes[0] as number;
  if (!types.includes(type)) throw new NoteError(`the verifier key has type ${type}, and not ${types.join(" or ")}`);
  const key = verifierKey(parts[1] as string, bytes.subarray(1), type);
  if (hexId(key.keyId) !== parts[2]) throw new NoteError("the verifier key's hash does not fit its name and key");
  return key;
}

/** The raw 32 bytes of an Ed25519 public key. @throws NoteError for another kind of key */
export function rawPublicKey(key: KeyObject): Uint8Array {
  const publicKey = key.type === "private" ? createPublicKey(key) : key;
  const { crv, x } = publicKey.export({ format: "jwk" });
  if (crv !== "Ed25519" || x === undefined) throw new NoteError("not an Ed25519 key");
  return Buffer.from(x, "base64url");
}

/** A signer from an Ed25519 private key. */
export function ed25519Signer(name: string, privateKey: KeyObject): NoteSigner {
  const { keyId: id } = verifierKey(name, rawPublicKey(privateKey));
  return { name, keyId: id, sign: (text) => sign(null, Buffer.from(text), privateKey) };
}

/** Reports whether a signature over a message is valid: Ed25519 (RFC 8032, 5.1.7), or ML-DSA-44 with no context (FIPS 204). */
export function verifies(
  { type, publicKey }: VerifierKey,
  message: string | Uint8Array,
  signature: Uint8Array,
): boolean {
  const raw = Buffer.from(publicKey).toString("base64url");
  const key =
    type === SIGNATURE_SUBTREE_V1 ? { kty: "AKP", alg: "ML-DSA-44", pub: raw } : { kty: "OKP", crv: "Ed25519", x: raw };
  return verify(null, Buffer.from(message), createPublicKey({ key, format: "jwk" }), signature);
}

/** Signs a text. @throws NoteError when the text cannot be a note's */
export function signNote(text: string, signers: readonly NoteSigner[]): string {
  checkText(text);
  if (signers.length === 0) throw new NoteError("a note has a signature");
  return formatNote({
    text,
    signatures: signers.map((signer) => ({ name: signer.name, keyId: signer.keyId, signature: signer.sign(text) })),
  });
}

/** Returns the text form of a note. */
export const formatNote = ({ text, signatures }: SignedNote): string =>
  `${text}\n${signatures.map(formatSignature).join("")}`;

/** Returns one signature line, with its newline. */
export function formatSignature({ name, keyId: id, signature }: NoteSignature): string {
  const bytes = Buffer.alloc(KEY_ID_BYTES + signature.length);
  bytes.writeUInt32BE(id);
  bytes.set(signature, KEY_ID_BYTES);
  return `— ${name} ${bytes.toString("base64")}\n`;
}

/** Parses a note. @throws NoteError when the text is not a note */
export function parseNote(note: string): SignedNote {
  if (note.length > MAX_NOTE_CHARS) throw new NoteError("too long for a signed note");
  // The text may contain empty lines. The last one separates it from the signatures.
  const end = note.lastIndexOf("\n\n");
  if (end < 0) throw new NoteError("a signed note has an empty line before its signatures");
  const text = note.slice(0, end + 1);
  checkText(text);
  const signatures = parseSignatures(note.slice(end + 2));
  if (signatures.length === 0) throw new NoteError("a signed note has a signature");
  return { text, signatures };
}

/** Reads signature lines. @throws NoteError */
export function parseSignatures(lines: string): NoteSignature[] {
  if (lines !== "" && !lines.endsWith("\n")) throw new NoteError("a signature line ends with a newline");
  const found = lines.split("\n").slice(0, -1);
  if (found.length > MAX_NOTE_SIGNATURES) throw new NoteError("more signatures than a note may have");
  return found.map((line) => {
    const parts = /^— ([^ ]+) ([A-Za-z0-9+/=]+)$/.exec(line);
    const bytes = parts && fromBase64(parts[2] as string);
    if (!parts || !bytes || bytes.length <= KEY_ID_BYTES || !isKeyName(parts[1] as string)) {
      throw new NoteError("a signature line is malformed");
    }
    return { name: parts[1] as string, keyId: bytes.readUInt32BE(), signature: bytes.subarray(KEY_ID_BYTES) };
  });
}

/** The result of looking for a key's signature. */
type SignatureVerdict = "good" | "bad" | "absent";

/** Checks the signatures of one key on a note. One bad signature makes the result `bad`. */
export function checkSignature({ text, signatures }: SignedNote, key: VerifierKey): SignatureVerdict {
  const own = signatures.filter(({ name, keyId: id }) => name === key.name && id === key.keyId);
  if (own.length === 0) return "absent";
  return own.every(({ signature }) => verifies(key, text, signature)) ? "good" : "bad";
}

/** Decodes standard base64. Returns null when the text is not in canonical form. */
export function fromBase64(text: string): Buffer | null {
  const bytes = Buffer.from(text, "base64");
  return bytes.toString("base64") === text ? bytes : null;
}

function checkText(text: string): void {
  if (!text.endsWith("\n")) throw new NoteError("a note's text ends with a newline");
  if (!text.isWellFormed()) throw new NoteError("a note is UTF-8");
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code < 0x20 && code !== 0x0a) throw new NoteError("a note has no control characters");
  }
}

/** White space of Unicode, control characters and + are in no key name (signed-note). */
export const isKeyName = (name: string): boolean => name !== "" && !/[\s+\p{Cc}]/u.test(name) && name.isWellFormed();

/** Returns a key id as verifier keys show it. */
export const hexId = (id: number): string => id.toString(16).padStart(2 * KEY_ID_BYTES, "0");
