/** Reads certificates and keys in PEM, and reports how long they are valid. */
import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { Failure, readText } from "../../failure.ts";

/** A certificate chain and its key, as the server uses them. */
export interface ServerCertificate {
  /** The chain in PEM, the server's own certificate first. */
  cert: string;
  /** The private key in PEM. */
  key: string;
  /** From when the server's own certificate is valid, milliseconds since the Unix epoch. */
  validFrom: number;
  /** When it expires, milliseconds since the Unix epoch. */
  expiresAt: number;
  /** Authorities in PEM that must have issued the certificate of every client; absent or null to require none. */
  clientCa?: string | null;
  /**
   * Set when the daemon's own authority was just renewed: the time, ms, at which clients with the old authority's
   * certificate stop accepting the server's.
   */
  formerAuthorityEnds?: number;
}

/**
 * Reads a chain and its key from two files.
 * @throws {Failure} `certificate_unusable` when one cannot be read, is not PEM, or the key does not match
 */
export function readServerCertificate(certPath: string, keyPath: string): ServerCertificate {
  const cert = readText("certificate_unusable", certPath, "the certificate");
  const key = readText("certificate_unusable", keyPath, "the key of the certificate");
  const leaf = parseCertificate(cert, certPath);
  if (!leaf.checkPrivateKey(parseKey(key, keyPath))) {
    const message = `The key ${keyPath} does not belong to the certificate ${certPath}. Name a matching pair.`;
    throw new Failure("certificate_unusable", message);
  }
  return { cert, key, validFrom: Date.parse(leaf.validFrom), expiresAt: Date.parse(leaf.validTo) };
}

/** One certificate in PEM (RFC 7468). */
const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * Reads the authorities of client certificates: one certificate or several.
 * @throws {Failure} `certificate_unusable` when the file cannot be read or a certificate is not an authority
 */
export function readClientAuthorities(path: string): string {
  const certificates = certificatesOf(readText("certificate_unusable", path, "the authority of the clients"), path);
  if (!certificates.every(({ ca }) => ca)) {
    const advice = "Name the file of the authorities that issue client certificates.";
    throw new Failure("certificate_unusable", `${path} holds a certificate that is not an authority. ${advice}`);
  }
  return certificates.map((certificate) => certificate.toString()).join("");
}

/** Returns all certificates of a PEM text, at least one. */
const certificatesOf = (pem: string, path: string): X509Certificate[] =>
  (pem.match(PEM_CERTIFICATE) ?? [pem]).map((text) => parseCertificate(text, path));

/** Returns the first certificate of a PEM text. */
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
    // The error is not passed on as the cause: it may quote the file, which is secret.
    throw new Failure("certificate_unusable", `${path} is not a private key in PEM without a passphrase.`);
  }
}

const DAY_MS = 24 * 60 * 60 * 1_000;
/** A certificate that expires sooner than this causes a warning. */
export const WARN_BEFORE_DAYS = 21;

/** One certificate and when it expires. */
export interface CertificateStatus {
  /** `server`: the certificate that clients see. `client_ca`: an authority of client certificates. */
  role: "server" | "client_ca";
  /** The subject's distinguished name, on one line. */
  subject: string;
  /** When it expires, milliseconds since the Unix epoch. */
  notAfter: number;
  /** Only while it is not valid yet: from when it is, milliseconds since the Unix epoch. */
  notBefore?: number;
  /** Whole days until then; negative when it has expired. */
  daysLeft: number;
}

/** Returns the status of the certificates in use, the server's own first. */
export function certificateStatus(certificate: ServerCertificate, nowMs: number): CertificateStatus[] {
  const statusOf = (
    role: CertificateStatus["role"],
    { subject, validFrom, validTo }: X509Certificate,
  ): CertificateStatus => {
    const [notBefore, notAfter] = [Date.parse(validFrom), Date.parse(validTo)];
    const daysLeft = Math.floor((notAfter - nowMs) / DAY_MS);
    return {
      role,
      subject: subject.replaceAll("\n", ", "),
      notAfter,
      daysLeft,
      ...(notBefore > nowMs && { notBefore }),
    };
  };
  const { cert, clientCa } = certificate;
  const authorities = clientCa ? certificatesOf(clientCa, "client_ca") : [];
  return [
    statusOf("server", parseCertificate(cert, "server")),
    ...authorities.map((authority) => statusOf("client_ca", authority)),
  ];
}
