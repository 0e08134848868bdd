/**
 * Creates X.509 certificates (RFC 5280): the daemon's own certificate authority and the server certificates that it
 * issues. The library is imported only when a certificate is created, since that takes a while.
 */
import { createPrivateKey, createPublicKey, KeyObject } from "node:crypto";
import { isIP } from "node:net";
import type { X509Certificate } from "@peculiar/x509";

/** ECDSA on P-256 with SHA-256, which every current client accepts. */
const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const DAY_MS = 24 * 60 * 60 * 1_000;
/** Certificates are valid from this long ago, since the clocks of clients may be slow. */
const BACKDATE_MS = 60 * 60 * 1_000;
const AUTHORITY_DAYS = 3_650;
/** The longest validity that the strictest clients accept from a public authority. */
const SERVER_DAYS = 397;
const SERIAL_BYTES = 16;

/** Imports the polyfill and then the library. A bundler would not keep the order of two static imports. */
async function library() {
  await import("reflect-metadata");
  return import("@peculiar/x509");
}

/** A certificate and its private key (PKCS #8), both in PEM. */
interface Issued {
  cert: string;
  key: string;
}

/** Returns a new authority that can issue server certificates, but no further authorities. */
export async function makeAuthority(now: number): Promise<Issued> {
  const keys = await crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
  const serialNumber = randomSerial();
  // A part of the serial number distinguishes the authorities of several daemons in a trust store.
  const name = `CN=governd local authority ${serialNumber.slice(0, 8)}`;
  return { cert: await selfSigned(name, keys, serialNumber, now), key: await exportKey(keys.privateKey) };
}

/**
 * Renews an authority for ten years. Its name and key stay the same, so clients that trust the old certificate accept
 * new server certificates until the old one expires.
 */
export async function renewAuthority(authority: Issued, now: number): Promise<Issued> {
  const x509 = await library();
  const before = new x509.X509Certificate(authority.cert);
  const keys = {
    privateKey: await importKey(authority.key),
    publicKey: await before.publicKey.export(ALGORITHM, ["verify"]),
  };
  return { cert: await selfSigned(before.subject, keys, randomSerial(), now), key: authority.key };
}

async function selfSigned(name: string, keys: CryptoKeyPair, serialNumber: string, now: number): Promise<string> {
  const x509 = await library();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber,
    name,
    ...validity(now, AUTHORITY_DAYS),
    keys,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return pem(certificate);
}

/** Returns an authority of this name with an existing key (PKCS #8 in PEM). */
export async function authorityWith(key: string, name: string, now: number): Promise<Issued> {
  const privateKey = await importKey(key);
  const spki = createPublicKey(key).export({ format: "der", type: "spki" });
  const publicKey = await crypto.subtle.importKey("spki", new Uint8Array(spki), ALGORITHM, true, ["verify"]);
  return { cert: await selfSigned(`CN=${name}`, { privateKey, publicKey }, randomSerial(), now), key };
}

/**
 * Issues a server certificate with a new key. `names` are host names and IP addresses. `asClient`: it also
 * authenticates a client.
 */
export async function issueServerCertificate(
  authority: Issued,
  names: readonly string[],
  now: number,
  { asClient = false } = {},
): Promise<Issued> {
  const x509 = await library();
  const issuer = new x509.X509Certificate(authority.cert);
  const signingKey = await importKey(authority.key);
  const keys = await crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
  const authorityEnd = issuer.notAfter.getTime();
  const { notBefore, notAfter } = validity(now, SERVER_DAYS);
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: randomSerial(),
    subject: "CN=governd",
    issuer: issuer.subjectName,
    notBefore,
    notAfter: new Date(Math.min(notAfter.getTime(), authorityEnd)),
    publicKey: keys.publicKey,
    signingKey,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([
        x509.ExtendedKeyUsage.serverAuth,
        ...(asClient ? [x509.ExtendedKeyUsage.clientAuth] : []),
      ]),
      new x509.SubjectAlternativeNameExtension(
        names.map((value) => ({ type: isIP(value) ? ("ip" as const) : ("dns" as const), value })),
      ),
      await x509.AuthorityKeyIdentifierExtension.create(issuer.publicKey),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { cert: pem(certificate), key: await exportKey(keys.privateKey) };
}

function validity(now: number, days: number): { notBefore: Date; notAfter: Date } {
  return { notBefore: new Date(now - BACKDATE_MS), notAfter: new Date(now + days * DAY_MS) };
}

/** Returns a positive number of 127 random bits in hex (RFC 5280, section 4.1.2.2). */
function randomSerial(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(SERIAL_BYTES));
  bytes[0] = ((bytes[0] as number) & 0x7f) | 0x40;
  return bytes.toHex();
}

const pem = (certificate: X509Certificate): string => `${certificate.toString("pem")}\n`;

/** PKCS #8 in PEM (RFC 7468). */
const exportKey = async (key: CryptoKey): Promise<string> =>
  KeyObject.from(key).export({ format: "pem", type: "pkcs8" }).toString();

function importKey(pem: string): Promise<CryptoKey> {
  const der = createPrivateKey(pem).export({ format: "der", type: "pkcs8" });
  return crypto.subtle.importKey("pkcs8", new Uint8Array(der), ALGORITHM, false, ["sign"]);
}
