/** Where the server's certificate comes from, according to the settings. */
import { existsSync } from "node:fs";
import type { DataDirectory } from "../../core/datadir/layout.ts";
import type { Clock } from "../../ids.ts";
import { isEveryAddress } from "../../networks.ts";
import type { Settings } from "../../settings/definitions.ts";
import { readClientAuthorities, readServerCertificate, type ServerCertificate } from "./certificate.ts";
import { ownCertificate } from "./own-authority.ts";

/** Where to load the server's certificate from. */
export interface CertificateSource<C extends ServerCertificate = ServerCertificate> {
  /** Returns the certificate to use now. Each call reads the files again. */
  load(): Promise<C>;
  /** The file of the authority that clients must trust, when it is the daemon's own. */
  authorityFile: string | null;
}

type TlsSettings = Pick<Settings, "tls" | "tls_cert" | "tls_key" | "client_ca" | "hostnames" | "listen">;

/** Returns the source that the settings name, or null with `tls = "off"`. */
export function certificateSource(
  settings: TlsSettings,
  directory: DataDirectory,
  clock: Clock,
): CertificateSource | null {
  if (settings.tls === "off") return null;
  const isOwn = settings.tls === "auto";
  const read = async () => (isOwn ? await ownCertificate(directory, namesOf(settings), clock()) : readGiven(settings));
  return { load: async () => withClientCa(settings, await read()), authorityFile: isOwn ? directory.authority : null };
}

/** Returns the names by which clients may call the daemon: also the address on which it listens, if it is only one. */
const namesOf = ({ hostnames, listen: { host } }: TlsSettings): string[] =>
  isEveryAddress(host) ? hostnames : [...hostnames, host];

/**
 * Returns the present certificate without creating or renewing one. Returns null with `tls = "off"`, and before the
 * daemon created its own.
 * @throws {Failure} `certificate_unusable`
 */
export function storedCertificate(
  settings: TlsSettings,
  { serverCertificate, serverKey }: DataDirectory,
): ServerCertificate | null {
  if (settings.tls === "off") return null;
  if (settings.tls === "files") return withClientCa(settings, readGiven(settings));
  if (!existsSync(serverCertificate) || !existsSync(serverKey)) return null;
  return withClientCa(settings, readServerCertificate(serverCertificate, serverKey));
}

function readGiven({ tls_cert: cert, tls_key: key }: TlsSettings): ServerCertificate {
  if (cert === null || key === null) throw new Error("settings with tls = files name both files");
  return readServerCertificate(cert, key);
}

const withClientCa = ({ client_ca: ca }: TlsSettings, certificate: ServerCertificate): ServerCertificate =>
  ca === null ? certificate : { ...certificate, clientCa: readClientAuthorities(ca) };
