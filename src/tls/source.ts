/** Where the server's certificate comes from, by the settings. */
import type { DataDirectory } from "../datadir/layout.ts";
import type { Clock } from "../ids.ts";
import type { Settings } from "../settings/schema.ts";
import { readServerCertificate, type ServerCertificate } from "./certificate.ts";
import { ownCertificate } from "./own-authority.ts";

/** The certificate to serve with now; each call looks anew. */
export interface CertificateSource {
  load(): Promise<ServerCertificate>;
  /** The file of the authority that clients are to trust, when it is the daemon's own. */
  authorityFile: string | null;
}

/** The source that the settings name, or null with `tls = "off"`. */
export function certificateSource(
  settings: Pick<Settings, "tls" | "tls_cert" | "tls_key" | "hostnames">,
  directory: DataDirectory,
  clock: Clock,
): CertificateSource | null {
  const { tls, tls_cert: cert, tls_key: key, hostnames } = settings;
  if (tls === "off") return null;
  if (tls === "auto") {
    return {
      load: () => ownCertificate(directory, hostnames, clock()),
      authorityFile: directory.authority,
    };
  }
  if (cert === null || key === null) throw new Error("settings with tls = files name both files");
  return { load: async () => readServerCertificate(cert, key), authorityFile: null };
}
