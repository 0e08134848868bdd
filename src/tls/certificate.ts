/** Looking at certificates and keys in PEM, without making any. */
import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { Failure, systemReason } from "../failure.ts";

/** A certificate chain and its key, as the server takes them, with what is worth showing of them. */
export interface ServerCertificate {
  /** The chain in PEM, the server's own certificate first. */
  cert: string;
  /** The private key in PEM. */
  key: string;
  /** From when on clients refuse the server's own certificate, milliseconds since the Unix epoch. */
  expiresAt: number;
  /** Authorities in PEM by one of which every client must have a certificate; absent or null to ask for none. */
  clientCa?: string | null;
  /**
   * Present when the daemon's own authority was renewed just now: until when clients that trust the one
   * before still accept what it issues.
   */
  formerAuthorityEnds?: number;
}

/**
 * Reads a chain and its key from two files.
 * @throws {Failure} `certificate_unusable` when one cannot be read, is not PEM, or they do not belong together.
 */
export function readServerCertificate(certPath: string, keyPath: string): ServerCertificate {
  const cert = read(certPath, "certificate");
  const key = read(keyPath, "key of the certificate");
  const leaf = parseCertificate(cert, certPath);
  if (!leaf.checkPrivateKey(parseKey(key, keyPath))) {
    throw new Failure(
      "certificate_unusable",
      `The key ${keyPath} does not belong to the certificate ${certPath}: name the pair that was issued together.`,
    );
  }
  return { cert, key, expiresAt: Date.parse(leaf.validTo) };
}

/** One certificate in PEM (RFC 7468). */
const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * Reads the authorities that clients' certificates must be by: one certificate or several.
 * @throws {Failure} `certificate_unusable` when the file cannot be read or one of them is no authority.
 */
export function readClientAuthorities(path: string): string {
  const certificates = certificatesOf(read(path, "authority of the clients"), path);
  if (!certificates.every(({ ca }) => ca)) {
    throw new Failure(
      "certificate_unusable",
      `${path} holds a certificate that is not an authority's: name the file of those that issue certificates to clients.`,
    );
  }
  return certificates.map((certificate) => certificate.toString()).join("");
}

/** Every certificate of a PEM text, one at least. */
export function certificatesOf(pem: string, path: string): X509Certificate[] {
  const texts = pem.match(PEM_CERTIFICATE) ?? [pem];
  return texts.map((text) => parseCertificate(text, path));
}

/** The first certificate of a PEM text. */
export function parseCertificate(pem: string, path: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (error) {
    throw new Failure("certificate_unusable", `${path} is not a certificate in PEM.`, { cause: error });
  }
}

function parseKey(pem: string, path: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch {
    // The cause may quote the file, and the file is a secret.
    throw new Failure("certificate_unusable", `${path} is not a private key in PEM without a passphrase.`);
  }
}

function read(path: string, what: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new Failure("certificate_unusable", `Cannot read the ${what} ${path}: ${systemReason(error)}.`, {
      cause: error,
    });
  }
}

const DAY_MS = 24 * 60 * 60 * 1_000;
/** A certificate with less than this left is warned of. */
export const WARN_BEFORE_DAYS = 21;

/** One certificate and its end. */
export interface CertificateStatus {
  /** `server`: what clients are shown; `client_ca`: what their certificates must be by. */
  role: "server" | "client_ca";
  /** The subject's distinguished name, on one line. */
  subject: string;
  /** Its last moment, milliseconds since the Unix epoch. */
  notAfter: number;
  /** Whole days until then; negative when that is over. */
  daysLeft: number;
}

/** The certificates that are in use, the server's own first. */
export function certificateStatus(certificate: ServerCertificate, nowMs: number): CertificateStatus[] {
  const [server] = statusesOf("server", certificate.cert, nowMs);
  const authorities = certificate.clientCa ? statusesOf("client_ca", certificate.clientCa, nowMs) : [];
  return server === undefined ? authorities : [server, ...authorities];
}

function statusesOf(role: CertificateStatus["role"], pem: string, nowMs: number): CertificateStatus[] {
  return certificatesOf(pem, role).map(({ subject, validTo }) => {
    const notAfter = Date.parse(validTo);
    return {
      role,
      subject: subject.replaceAll("\n", ", "),
      notAfter,
      daysLeft: Math.floor((notAfter - nowMs) / DAY_MS),
    };
  });
}
