/**
 * `tls = "auto"`: the daemon's own certificate authority in `tls/`, created at the first start, and a server
 * certificate that it issued, which is renewed before it expires or when the names change. People trust `tls/ca.crt`
 * once. After nine years it is renewed with the same key, and they have a year to install the new file.
 */
import type { X509Certificate } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { isIP } from "node:net";
import type { DataDirectory } from "../../core/datadir/layout.ts";
import { replaceFile } from "../../core/datadir/private-files.ts";
import { parseCertificate, readServerCertificate, type ServerCertificate } from "./certificate.ts";

const DAY_MS = 24 * 60 * 60 * 1_000;
/** A server certificate that expires sooner than this is renewed. */
export const RENEW_BEFORE_MS = 120 * DAY_MS;
/** The authority is renewed when it expires sooner than this, so that no server certificate outlives it. */
const RENEW_AUTHORITY_BEFORE_MS = 400 * DAY_MS;
/** Certificates are public. */
const CERTIFICATE_MODE = 0o644;
/** Names in every server certificate, in addition to `hostnames`. */
const LOCAL_NAMES = ["localhost", "127.0.0.1", "::1"] as const;

/**
 * Returns the server certificate for these names and the local ones, and creates or renews it when needed. Only the
 * daemon that holds the data directory may call this.
 * @throws {Failure} `certificate_unusable` when the files in `tls/` are damaged
 */
export async function ownCertificate(
  directory: DataDirectory,
  hostnames: readonly string[],
  now: number,
): Promise<ServerCertificate> {
  const { authority, authorityKey, serverCertificate, serverKey } = directory;
  const { isNew, formerEnds } = await ensureAuthority(authority, authorityKey, now);
  const names = [...new Set([...hostnames, ...LOCAL_NAMES])];
  if (isNew || !isCurrent(directory, names, now)) {
    const issuer = readServerCertificate(authority, authorityKey);
    const { issueServerCertificate } = await import("./issue.ts");
    const issued = await issueServerCertificate(issuer, names, now);
    // A crash between the two leaves a pair that does not match. The next start detects that and issues a new one.
    replaceFile(serverKey, issued.key);
    replaceFile(serverCertificate, issued.cert, CERTIFICATE_MODE);
  }
  const certificate = readServerCertificate(serverCertificate, serverKey);
  return formerEnds === undefined ? certificate : { ...certificate, formerAuthorityEnds: formerEnds };
}

async function ensureAuthority(cert: string, key: string, now: number) {
  const before = existsSync(cert) && existsSync(key) ? readServerCertificate(cert, key) : null;
  if (before !== null && before.validFrom <= now && before.expiresAt - now > RENEW_AUTHORITY_BEFORE_MS)
    return { isNew: false, formerEnds: undefined };
  const { makeAuthority, renewAuthority } = await import("./issue.ts");
  const authority = before === null ? await makeAuthority(now) : await renewAuthority(before, now);
  replaceFile(key, authority.key);
  replaceFile(cert, authority.cert, CERTIFICATE_MODE);
  return { isNew: true, formerEnds: before !== null && before.validFrom > now ? now : before?.expiresAt };
}

/** Reports whether the present pair was issued by this authority for exactly these names and does not expire soon. */
function isCurrent(directory: DataDirectory, names: readonly string[], now: number): boolean {
  const { authority, serverCertificate, serverKey } = directory;
  if (!existsSync(serverCertificate) || !existsSync(serverKey)) return false;
  try {
    const { cert, validFrom, expiresAt } = readServerCertificate(serverCertificate, serverKey);
    const leaf = parseCertificate(cert, serverCertificate);
    const issuer = parseCertificate(readFileSync(authority, "utf8"), authority);
    return (
      validFrom <= now &&
      expiresAt - now > RENEW_BEFORE_MS &&
      leaf.verify(issuer.publicKey) &&
      coversExactly(leaf, names)
    );
  } catch {
    // A new certificate by the same authority replaces a pair that cannot be used.
    return false;
  }
}

function coversExactly(leaf: X509Certificate, names: readonly string[]): boolean {
  const covered = leaf.subjectAltName?.split(", ") ?? [];
  const covers = (name: string) => (isIP(name) ? leaf.checkIP(name) !== undefined : covered.includes(`DNS:${name}`));
  return covered.length === names.length && names.every(covers);
}
