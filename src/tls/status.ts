/** How long the certificates in use are good for: for the log, the metrics and `check`. */
import { certificatesOf, type ServerCertificate } from "./certificate.ts";

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
