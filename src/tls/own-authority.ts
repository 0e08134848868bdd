/**
 * `tls = "auto"`: a certificate authority of the daemon's own in `tls/`, made at the first start, and a
 * server certificate by it, renewed when it is near its end or the names changed. People trust `tls/ca.crt`
 * once; after nine years it is renewed with the same key, and they have a year to take the new file.
 */
import type { X509Certificate } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { isIP } from "node:net";
import type { DataDirectory } from "../datadir/layout.ts";
import { replaceFile } from "../datadir/private-files.ts";
import { parseCertificate, readServerCertificate, type ServerCertificate } from "./certificate.ts";

const DAY_MS = 24 * 60 * 60 * 1_000;
/** A server certificate with less than this left is renewed. */
const RENEW_BEFORE_MS = 120 * DAY_MS;
/** The authority is renewed when its end is nearer than this: no server certificate is to outlive it. */
const RENEW_AUTHORITY_BEFORE_MS = 400 * DAY_MS;
/** Certificates are public. */
const CERTIFICATE_MODE = 0o644;
/** Every server certificate is good for these, whatever `hostnames` says. */
const LOCAL_NAMES = ["localhost", "127.0.0.1", "::1"] as const;

/**
 * The server certificate for these names and this machine's own, made when needed. To be called by the
 * one daemon that holds the data directory.
 * @throws {Failure} `certificate_unusable` when the files in `tls/` are damaged.
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
    // A crash between the two leaves a pair that does not match: seen at the next start, and made anew.
    replaceFile(serverKey, issued.key);
    replaceFile(serverCertificate, issued.cert, CERTIFICATE_MODE);
  }
  const certificate = readServerCertificate(serverCertificate, serverKey);
  return formerEnds === undefined ? certificate : { ...certificate, formerAuthorityEnds: formerEnds };
}

async function ensureAuthority(
  cert: string,
  key: string,
  now: number,
): Promise<{ isNew: boolean; formerEnds?: number }> {
  const before = existsSync(cert) && existsSync(key) ? readServerCertificate(cert, key) : null;
  if (before !== null && before.expiresAt - now > RENEW_AUTHORITY_BEFORE_MS) return { isNew: false };
  const { makeAuthority, renewAuthority } = await import("./issue.ts");
  const authority = before === null ? await makeAuthority(now) : await renewAuthority(before, now);
  replaceFile(key, authority.key);
  replaceFile(cert, authority.cert, CERTIFICATE_MODE);
  return before === null ? { isNew: true } : { isNew: true, formerEnds: before.expiresAt };
}

/** True when there is a pair by this authority, for exactly these names, that is good for a while. */
function isCurrent(directory: DataDirectory, names: readonly string[], now: number): boolean {
  const { authority, serverCertificate, serverKey } = directory;
  if (!existsSync(serverCertificate) || !existsSync(serverKey)) return false;
  try {
    const { cert, expiresAt } = readServerCertificate(serverCertificate, serverKey);
    const leaf = parseCertificate(cert, serverCertificate);
    const issuer = parseCertificate(readFileSync(authority, "utf8"), authority);
    return expiresAt - now > RENEW_BEFORE_MS && leaf.verify(issuer.publicKey) && coversExactly(leaf, names);
  } catch {
    // Whatever is wrong with the pair, a new one by the same authority mends it.
    return false;
  }
}

function coversExactly(leaf: X509Certificate, names: readonly string[]): boolean {
  const covered = leaf.subjectAltName?.split(", ") ?? [];
  const covers = (name: string) =>
    isIP(name) ? leaf.checkIP(name) !== undefined : covered.includes(`DNS:${name}`);
  return covered.length === names.length && names.every(covers);
}
